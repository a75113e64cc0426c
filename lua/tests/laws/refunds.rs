//! What a refund may do: never more than if the charge had not been.

use proptest::prelude::*;
use proptest::sample::Index;
use weir_limiter::{Decision, Limit, Receipt, State, Timestamp, decide, refund};

use super::one;
use crate::histories::{Cost, Gap, START, costs, edits_of_one_period, gaps, limits};

/// A request under one of several limits on one key; or what an earlier one charged is given back, if any is left.
#[derive(Clone, Debug)]
enum Step {
    Request(Gap, usize, Cost),
    Refund(Gap, Index),
}

fn steps(edits: usize) -> impl Strategy<Value = Vec<Step>> {
    let request = (gaps(false), 0..edits, costs());
    let step = prop_oneof![
        3 => request.prop_map(|(gap, which, cost)| Step::Request(gap, which, cost)),
        // small, so that they meet
        4 => (0..edits, 1..4_u64).prop_map(|(which, cost)| Step::Request(Gap::Forward(0), which, Cost::Units(cost))),
        2 => (0..3_000_u64, 0..edits, 1..300_u64)
            .prop_map(|(gap, which, cost)| Step::Request(Gap::Period(gap / 3), which, Cost::Share(cost))),
        4 => (gaps(false), any::<Index>()).prop_map(|(gap, which)| Step::Refund(gap, which)),
        4 => any::<Index>().prop_map(|which| Step::Refund(Gap::Forward(0), which)),
    ];
    prop::collection::vec(step, 1..60)
}

/// What was asked, when, under which limit, and whether it was charged and never given back.
struct Asked {
    at: u64,
    limit: Limit,
    cost: u64,
    admitted: bool,
    given_back: bool,
}

/// Runs a history and its twin in which what was given back had never been charged; `seen` compares the two states after
/// each step.
fn twins(
    limits: &[Limit],
    steps: &[Step],
    mut seen: impl FnMut(u64, Option<&State>, Option<&State>) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let (mut now, mut state, mut last) = (START, [None], None::<Decision>);
    let (mut asked, mut receipts) = (Vec::<Asked>::new(), Vec::<(usize, Receipt)>::new());
    let mut states = Vec::new();
    for step in steps {
        match step {
            Step::Request(gap, which, cost) => {
                let limit = limits[*which];
                now = gap.after(now, &limit, last.as_ref());
                let cost = cost.of(&limit);
                let mut decision = decide(Timestamp::from_micros(now), &[(limit, cost)], &mut state);
                receipts.extend(decision.outcomes[0].receipt.take().map(|receipt| (asked.len(), receipt)));
                asked.push(Asked { at: now, limit, cost, admitted: decision.admitted, given_back: false });
                last = Some(decision);
            }
            Step::Refund(gap, which) => {
                now = gap.after(now, &limits[0], last.as_ref());
                if !receipts.is_empty() {
                    let (number, receipt) = receipts.swap_remove(which.index(receipts.len()));
                    let before = state[0].clone();
                    let given_back = refund(Timestamp::from_micros(now), receipt, &mut state[0]);
                    prop_assert!(before.is_some() || state[0].is_none(), "a refund made a state");
                    prop_assert!(given_back == (before != state[0]), "{given_back}: {before:?} and {:?}", state[0]);
                    asked[number].given_back |= given_back;
                }
            }
        }
        states.push((asked.len(), now, state[0].clone()));
    }
    // what was given back later was there until then, so each moment has a twin of its own; the last one is enough, for
    // every beginning of a history is a history
    let mut twin = [None];
    let first_given_back = asked.iter().position(|asked| asked.given_back).unwrap_or(asked.len());
    let (mut done, last_refund) = (0, steps.iter().rposition(|step| matches!(step, Step::Refund(..))).unwrap_or(0));
    for (step, (requests, now, held)) in states.iter().enumerate() {
        while done < *requests {
            let Asked { at, limit, cost, admitted, given_back } = asked[done];
            // a refused request may cut what an edit left too much of: so may its twin, which takes nothing either
            let cost = if given_back {
                0
            } else if admitted {
                cost
            } else {
                limit.capacity() + 1
            };
            let decision = decide(Timestamp::from_micros(at), &[(limit, cost)], &mut twin);
            prop_assert!(!admitted || decision.admitted, "request {done} passes only because another was given back");
            done += 1;
        }
        if step >= last_refund && *requests > first_given_back {
            seen(*now, held.as_ref(), twin[0].as_ref())?;
        }
    }
    Ok(())
}

fn is_never_laxer(limits: &[Limit], steps: &[Step]) -> Result<(), TestCaseError> {
    twins(limits, steps, |now, held, twin| {
        for limit in limits.iter().filter(|limit| limit.quota().requests() > 0) {
            let period = limit.quota().period().as_micros() as u64;
            for later in [0, 1, period / 7, period / 2, period - 1, period, period + period / 3, 2 * period] {
                let left = |state| one(*limit, 0, now + later, state).outcomes[0].remaining;
                prop_assert!(left(held) <= left(twin), "{later} µs later {} of {}", left(held), left(twin));
            }
        }
        Ok(())
    })
}

proptest! {
    /// Of a window or a log with one period, and by a clock that goes forward: a charge itself, given back or not, lets go
    /// what a longer period or an earlier instant would find.
    #[test]
    fn a_history_with_a_refund_is_never_laxer_than_the_same_without_the_charge(
        limits in edits_of_one_period(), steps in steps(3),
    ) {
        is_never_laxer(&limits, &steps)?;
    }

    /// Whatever the algorithm, what was charged last and is given back at once was never charged.
    #[test]
    fn what_is_given_back_at_once_is_as_if_it_had_not_been(
        limit in limits(), steps in super::steps(false, 1), cost in costs(),
    ) {
        let (mut now, mut before) = (START, None);
        super::run(&[limit], &steps, |at, _, _, _, _, after| {
            (now, before) = (at, after.cloned());
            Ok(())
        })?;
        let mut state = [before.clone()];
        let mut decision = decide(Timestamp::from_micros(now), &[(limit, cost.of(&limit))], &mut state);
        if let Some(receipt) = decision.outcomes[0].receipt.take() {
            prop_assert!(refund(Timestamp::from_micros(now), receipt, &mut state[0]));
            for later in [0, 1, limit.quota().period().as_micros() as u64 / 2] {
                let told = |state| super::told(&one(limit, 0, now + later, state));
                prop_assert_eq!(told(state[0].as_ref()), told(before.as_ref()));
            }
        }
    }
}
