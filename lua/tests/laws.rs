//! What must hold of every history, on the model.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use weir_limiter::{Decision, Limit, Outcome, Quota, State, Timestamp, Verdict, decide, decide_shared};

mod queue;
mod refunds;

use crate::histories::{
    Cost, Gap, START, buckets, costs, edits, fixed_windows, gaps, limits, sliding_logs, sliding_windows, token_buckets,
};

/// A request under one of several limits on one key, so that a change of the limit is an edit.
type Step = (Gap, usize, Cost);

fn steps(backward: bool, edits: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((gaps(backward), 0..edits, costs()), 1..60)
}

/// Runs a history on one key and shows each request to `seen`: the instant, the limit, the cost, the state before, the
/// decision, the state after.
fn run(
    limits: &[Limit],
    steps: &[Step],
    mut seen: impl FnMut(u64, &Limit, u64, Option<&State>, &Decision, Option<&State>) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let (mut now, mut state, mut last) = (START, [None], None);
    for (gap, which, cost) in steps {
        let limit = &limits[*which];
        now = gap.after(now, limit, last.as_ref());
        let (cost, before) = (cost.of(limit), state[0].clone());
        let decision = decide(Timestamp::from_micros(now), &[(*limit, cost)], &mut state);
        seen(now, limit, cost, before.as_ref(), &decision, state[0].as_ref())?;
        last = Some(decision);
    }
    Ok(())
}

/// What a client is told: all but the receipts.
fn told(decision: &Decision) -> impl PartialEq + std::fmt::Debug + use<> {
    let outcome = |outcome: &Outcome| (outcome.verdict, outcome.remaining, outcome.reset, outcome.more, outcome.delay);
    (decision.admitted, decision.outcomes.iter().map(outcome).collect::<Vec<_>>())
}

fn one(limit: Limit, cost: u64, now: u64, state: Option<&State>) -> Decision {
    decide(Timestamp::from_micros(now), &[(limit, cost)], &mut [state.cloned()])
}

proptest! {
    #[test]
    fn a_refused_request_changes_nothing(limit in limits(), steps in steps(false, 1)) {
        run(&[limit], &steps, |_, _, _, before, decision, after| {
            prop_assert!(decision.admitted || before == after);
            Ok(())
        })?;
    }

    #[test]
    fn a_refused_request_is_refused_until_its_wait_is_over_and_admitted_then(limits in edits(), steps in steps(true, 3)) {
        run(&limits, &steps, |now, limit, cost, _, decision, after| {
            if let Verdict::Wait(wait) = decision.outcomes[0].verdict {
                let wait = wait.as_micros() as u64;
                prop_assert!(wait > 0 && !decision.admitted);
                prop_assert!(!one(*limit, cost, now + wait - 1, after).admitted);
                prop_assert!(one(*limit, cost, now + wait, after).admitted);
            }
            Ok(())
        })?;
    }

    #[test]
    fn more_is_left_when_it_is_told_and_not_before(limits in edits(), changing in steps(true, 3), steady in steps(false, 1)) {
        // what a read finds after an edit or a clock that stepped back is not written, and moves on with the clock
        for (steps, reads_hold) in [(changing, false), (steady, true)] {
            run(&limits, &steps, |now, limit, cost, _, decision, after| {
                let outcome = &decision.outcomes[0];
                let can_be_more = decision.admitted && outcome.remaining < limit.capacity();
                prop_assert_eq!(outcome.more.is_some(), can_be_more);
                if let Some(more) = outcome.more.filter(|_| cost > 0 || reads_hold).map(|more| more.as_micros() as u64) {
                    let left = |at| one(*limit, 0, at, after).outcomes[0].remaining;
                    prop_assert!(more > 0 && left(now + more - 1) == outcome.remaining);
                    // an instant past the last one is taken as that
                    let is_told = now + more <= Timestamp::from_micros(u64::MAX).as_micros();
                    prop_assert!(!is_told || left(now + more) > outcome.remaining);
                }
                Ok(())
            })?;
        }
    }

    #[test]
    fn a_cost_that_can_never_pass_is_told_so_and_no_other(limits in edits(), steps in steps(true, 3)) {
        run(&limits, &steps, |_, limit, cost, _, decision, _| {
            let never = decision.outcomes[0].verdict == Verdict::Never;
            prop_assert_eq!(never, !limit.can_ever_pass(cost));
            Ok(())
        })?;
    }

    #[test]
    fn a_bucket_admits_at_most_its_burst_and_what_refills(limit in buckets(), steps in steps(false, 1)) {
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            if decision.admitted {
                admitted.push((now, cost));
            }
            Ok(())
        })?;
        let period = limit.quota().period().as_micros();
        for (i, (from, _)) in admitted.iter().enumerate() {
            let mut taken = 0_u128;
            for (to, cost) in &admitted[i..] {
                taken += u128::from(*cost);
                let refilled = u128::from(to - from) * u128::from(limit.quota().requests());
                prop_assert!(taken * period <= u128::from(limit.capacity()) * period + refilled);
            }
        }
    }

    #[test]
    fn a_leaky_bucket_decides_as_a_token_bucket_of_the_same_numbers(limit in token_buckets(), steps in steps(true, 1)) {
        let twin = Limit::leaky_bucket(limit.quota(), limit.capacity()).expect("the same range");
        let mut states = [None];
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            let twin = decide(Timestamp::from_micros(now), &[(twin, cost)], &mut states);
            prop_assert_eq!(told(decision), told(&twin));
            Ok(())
        })?;
    }

    #[test]
    fn a_window_admits_at_most_its_quota(limit in fixed_windows(), steps in steps(false, 1)) {
        let (mut taken, period) = (BTreeMap::<u64, u64>::new(), limit.quota().period().as_micros() as u64);
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            if decision.admitted {
                *taken.entry(now / period).or_default() += cost;
            }
            Ok(())
        })?;
        prop_assert!(taken.values().all(|taken| *taken <= limit.capacity()));
    }

    #[test]
    fn a_sliding_log_decides_as_a_list_of_all_that_was_admitted_whatever_the_quota_becomes(
        limit in sliding_logs(), others in prop::collection::vec(1..=Limit::MAX_LOG, 2), steps in steps(false, 3),
    ) {
        let period = limit.quota().period();
        let with = |n: &u64| Limit::sliding_log(Quota::new(*n, period).expect("in range")).expect("in range");
        let limits = [limit, with(&others[0]), with(&(others[1] % 10))];
        let (mut list, p) = (Vec::<(u64, u64)>::new(), period.as_micros() as u64);
        run(&limits, &steps, |now, limit, cost, _, decision, _| {
            let live = |from: u64| list.iter().filter(|(at, _)| *at + p > from).map(|(_, cost)| cost).sum::<u64>();
            let (n, fits) = (limit.capacity(), |at: u64| live(at).saturating_add(cost) <= limit.capacity());
            prop_assert_eq!(decision.admitted, n > 0 && (cost == 0 || fits(now)));
            if let Verdict::Wait(wait) = decision.outcomes[0].verdict {
                let then = now + wait.as_micros() as u64;
                prop_assert!(fits(then) && !fits(then - 1));
            }
            if decision.admitted {
                list.push((now, cost));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_sliding_log_admits_at_most_its_quota_in_any_length_of_its_period(limit in sliding_logs(), steps in steps(false, 1)) {
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            if decision.admitted {
                admitted.push((now, cost));
            }
            Ok(())
        })?;
        let p = limit.quota().period().as_micros() as u64;
        for (i, (from, _)) in admitted.iter().enumerate() {
            let taken: u64 = admitted[i..].iter().filter(|(at, _)| at - from < p).map(|(_, cost)| cost).sum();
            prop_assert!(taken <= limit.capacity(), "{taken}");
        }
    }

    #[test]
    fn a_sliding_window_decides_by_its_formula_in_exact_fractions(limit in sliding_windows(), steps in steps(false, 1)) {
        let (n, p) = (u128::from(limit.capacity()), limit.quota().period().as_micros() as u64);
        // all that was admitted, and where the present window began
        let (mut log, mut start) = (Vec::<(u64, u64)>::new(), 0);
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            start += (now - start) / p * p;
            let counted = |from: u64, to: u64| -> u128 {
                log.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, cost)| u128::from(*cost)).sum()
            };
            if counted(start.saturating_sub(p), start + p) == 0 {
                start = now;
            }
            let (current, previous) = (counted(start, start + p), counted(start.saturating_sub(p), start));
            let left = u128::from(start + p - now);
            let fits = (current + u128::from(cost)) * u128::from(p) + previous * left <= n * u128::from(p);
            prop_assert_eq!(decision.admitted, n > 0 && (cost == 0 || fits));
            if decision.admitted {
                log.push((now, cost));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_sliding_window_admits_less_than_twice_its_quota_in_any_period(limit in sliding_windows(), steps in steps(false, 1)) {
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            if decision.admitted {
                admitted.push((now, cost));
            }
            Ok(())
        })?;
        let (n, p) = (limit.capacity(), limit.quota().period().as_micros() as u64);
        for (i, (from, _)) in admitted.iter().enumerate() {
            let taken: u64 = admitted[i..].iter().filter(|(at, _)| at - from < p).map(|(_, cost)| cost).sum();
            prop_assert!(taken <= n.max((2 * n).saturating_sub(2)), "{taken} of {n}");
        }
    }

    #[test]
    fn an_edit_to_a_longer_period_lets_no_window_of_it_have_more_than_the_larger_quota(
        quota in fixed_windows(), times in 2..1_000_u32, steps in prop::collection::vec((gaps(false), costs()), 1..60),
        edited_at in 0..60_usize,
    ) {
        // whole multiples, so that each old window lies in one new one; only what is in the last old window is kept
        let quota = quota.quota();
        let long = quota.period() * times;
        prop_assume!(long <= Quota::MAX_PERIOD);
        let limits = [quota, Quota::new(quota.requests(), long).expect("in range")].map(Limit::fixed_window);
        let steps: Vec<_> = steps.into_iter().enumerate().map(|(i, (gap, cost))| (gap, usize::from(i >= edited_at), cost)).collect();
        let (short, long) = (quota.period().as_micros() as u64, long.as_micros() as u64);
        let (mut taken, mut kept) = (BTreeMap::<u64, u64>::new(), (0, 0));
        run(&limits, &steps, |now, limit, cost, _, decision, _| {
            let cost = if decision.admitted { cost } else { 0 };
            if *limit == limits[0] {
                // the newest old window that has anything
                if cost > 0 {
                    kept = (now / short * short, if kept.0 == now / short * short { kept.1 + cost } else { cost });
                }
            } else {
                let window = taken.entry(now / long).or_insert(if kept.0 / long == now / long { kept.1 } else { 0 });
                *window += cost;
                prop_assert!(*window <= limit.capacity());
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_state_past_its_end_is_as_good_as_none_and_matters_before(limits in edits(), steps in steps(true, 3)) {
        run(&limits, &steps, |_, limit, _, _, _, after| {
            if let Some(state) = after.filter(|_| limit.quota().requests() > 0) {
                let end = state.expires(limit).as_micros();
                for cost in [0, 1, limit.capacity()] {
                    prop_assert_eq!(told(&one(*limit, cost, end, after)), told(&one(*limit, cost, end, None)));
                }
                let before = end - 1;
                let (after, none) = (one(*limit, limit.capacity(), before, after), one(*limit, limit.capacity(), before, None));
                prop_assert_ne!(told(&after), told(&none));
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_remains_is_never_above_the_capacity_and_a_read_tells_the_same(limits in edits(), steps in steps(true, 3)) {
        run(&limits, &steps, |now, limit, _, _, decision, after| {
            let told = &decision.outcomes[0];
            prop_assert!(told.remaining <= limit.capacity());
            let read = &one(*limit, 0, now, after).outcomes[0];
            prop_assert_eq!((told.remaining, told.reset), (read.remaining, read.reset));
            // what is said to remain is there, and not one more
            if limit.quota().requests() > 0 {
                prop_assert!(one(*limit, told.remaining, now, after).admitted);
                prop_assert!(!one(*limit, told.remaining + 1, now, after).admitted);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_read_never_changes_a_state(limits in edits(), steps in steps(true, 3)) {
        run(&limits, &steps, |_, _, cost, before, _, after| {
            prop_assert!(cost > 0 || before == after);
            Ok(())
        })?;
    }

    #[test]
    fn a_clock_that_steps_back_costs_a_bucket_what_the_step_refills_and_no_more(
        limit in buckets(), steps in steps(false, 1), back in 0..10_000_000_u64,
    ) {
        prop_assume!(limit.quota().requests() > 0);
        let (mut now, mut held) = (START, None);
        run(&[limit], &steps, |at, _, _, _, _, after| {
            (now, held) = (at, after.cloned());
            Ok(())
        })?;
        // the step is found out by a request that is refused: then the bucket is as empty as can be, no emptier
        let mut state = [held];
        decide(Timestamp::from_micros(now - back), &[(limit, limit.capacity())], &mut state);
        let reset = one(limit, 0, now - back, state[0].as_ref()).outcomes[0].reset.as_micros();
        let most = (u128::from(limit.capacity()) * limit.quota().period().as_micros())
            .div_ceil(u128::from(limit.quota().requests()));
        prop_assert!(reset <= most);
    }

    #[test]
    fn several_limits_are_all_charged_or_none(
        limits in prop::collection::vec(limits(), 1..5),
        steps in prop::collection::vec((gaps(false), prop::collection::vec((0..5_usize, costs()), 0..6)), 1..30),
    ) {
        let (mut now, mut last) = (START, None);
        let mut states = vec![None; limits.len()];
        for (gap, checks) in steps {
            now = gap.after(now, &limits[0], last.as_ref());
            let slots: Vec<_> = checks.iter().map(|(slot, _)| slot % limits.len()).collect();
            let checks: Vec<_> =
                checks.iter().zip(&slots).map(|((_, cost), slot)| (limits[*slot], cost.of(&limits[*slot]))).collect();
            let before = states.clone();
            let decision = decide_shared(Timestamp::from_micros(now), &checks, &slots, &mut states);
            let verdicts = decision.outcomes.iter().all(|outcome| outcome.verdict == Verdict::Pass);
            prop_assert_eq!(decision.admitted, verdicts);
            // the same charges one key at a time, as if nothing else were asked
            let mut alone = before.clone();
            let mut passes = true;
            for slot in 0..limits.len() {
                let costs: Vec<_> = checks.iter().zip(&slots).filter(|(_, s)| **s == slot).map(|(c, _)| *c).collect();
                let total = costs.iter().fold(0_u64, |sum, (_, cost)| sum.saturating_add(*cost));
                if let Some((limit, _)) = costs.first() {
                    passes &= decide(Timestamp::from_micros(now), &[(*limit, total)], &mut alone[slot..=slot]).admitted;
                }
            }
            prop_assert_eq!(decision.admitted, passes);
            prop_assert_eq!(&states, if passes { &alone } else { &before });
            last = Some(decision);
        }
    }
}

#[test]
fn a_sliding_window_can_admit_two_less_than_twice_its_quota_in_a_period() {
    let limit = Limit::sliding_window(Quota::new(3, std::time::Duration::from_micros(9_000)).expect("in range"));
    let mut state = [None];
    for (at, cost) in [(0, 1), (8_999, 2), (15_000, 2)] {
        assert!(decide(Timestamp::from_micros(at), &[(limit, cost)], &mut state).admitted, "{at}");
    }
}

#[test]
fn a_log_of_more_than_100000_is_refused_and_told_of_the_sliding_window() {
    let quota = |n| Quota::new(n, std::time::Duration::from_secs(1)).expect("in range");
    assert!(Limit::sliding_log(quota(Limit::MAX_LOG)).is_ok());
    let error = Limit::sliding_log(quota(Limit::MAX_LOG + 1)).expect_err("too long").to_string();
    assert!(error.contains("SlidingWindow") && error.contains("100001"), "{error}");
}

#[test]
fn a_request_without_checks_passes() {
    let decision = decide(Timestamp::from_micros(START), &[], &mut []);
    assert!(decision.admitted && decision.outcomes.is_empty());
}

#[test]
fn a_hit_each_100_ms_has_three_a_second_for_ten_seconds() {
    let quota = Quota::new(3, Duration::from_secs(1)).expect("in range");
    for limit in [Limit::token_bucket(quota, 3), Limit::leaky_bucket(quota, 3)] {
        let (limit, mut state) = (limit.expect("in range"), [None]);
        let hits = (0..100_u64).map(|i| Timestamp::from_micros(i * 100_000));
        let admitted: Vec<_> = hits.map(|now| decide(now, &[(limit, 1)], &mut state).admitted).collect();
        // what is there at first, and what came back until 9.9 s
        assert_eq!(admitted.iter().filter(|admitted| **admitted).count(), 3 + 29);
        for second in admitted.chunks(10).skip(1) {
            assert!((2..=4).contains(&second.iter().filter(|admitted| **admitted).count()), "{admitted:?}");
        }
    }
}
