//! Hand-worked histories, held against the model and the script alike. Times are µs after the epoch.
//!
//! `limits` names them: "FixedWindow 3 per 10000", "TokenBucket 2 per 10000 burst 3" or "LeakyBucket 2 per 10000 wait
//! 10000", a queue, each on a key of its own name; "… on other" puts it on the key `other`, which is how a limit is edited.
//! A step is [at, limit, cost, verdict, remaining, reset], then the delay where there is one, or for several checks in one
//! request [at, [limit, cost, verdict, remaining, reset], …]. [at, together, [limit, cost, verdict, remaining, reset], …] is one
//! request that so many ask at once. [at, refund, 2, true] gives back what the second step charged, and tells whether anything
//! was.

mod reader;

use std::collections::BTreeMap;

use weir_limiter::{Batch, Check, Decision, Receipt, State, Timestamp, Verdict, decide_shared, refund};

use crate::server::RedisServer;
use reader::{FILES, Step, Told, What, histories};

fn told(decision: &Decision) -> Vec<Told> {
    decision.outcomes.iter().map(|told| (told.verdict, told.remaining, told.reset, told.delay)).collect()
}

/// What one request charged, by key.
fn charged(checks: &[Check<String>], decision: Decision) -> impl Iterator<Item = (String, Receipt)> {
    let receipts = checks.iter().zip(decision.outcomes);
    receipts.filter_map(|(check, outcome)| Some((check.key.clone(), outcome.receipt?)))
}

#[test]
fn the_model_follows_every_hand_worked_history() {
    for (name, steps) in histories() {
        let mut states = BTreeMap::<String, Option<State>>::new();
        let mut charges = Vec::<Vec<(String, Receipt)>>::new();
        for (number, Step { at, what }) in steps.into_iter().enumerate() {
            let at = Timestamp::from_micros(at);
            let (checks, expected) = match what {
                What::Request(checks, expected) => (checks, expected),
                What::Refund(of, expected) => {
                    for (key, receipt) in std::mem::take(&mut charges[of]).into_iter().rev() {
                        let given_back = refund(at, receipt, states.get_mut(&key).expect("it was charged"));
                        assert_eq!(given_back, expected, "{name}, step {}", number + 1);
                    }
                    charges.push(vec![]);
                    continue;
                }
            };
            let mut keys: Vec<&String> = checks.iter().map(|check| &check.key).collect();
            keys.sort();
            keys.dedup();
            let mut held: Vec<_> = keys.iter().map(|key| states.get(*key).cloned().flatten()).collect();
            let slots: Vec<_> = checks.iter().map(|check| keys.binary_search(&&check.key).expect("it")).collect();
            let asked: Vec<_> = checks.iter().map(|check| (check.limit, check.cost)).collect();
            let mut taken = vec![];
            for expected in expected {
                let decision = decide_shared(at, &asked, &slots, &mut held);
                assert_eq!(told(&decision), expected, "{name}, step {}", number + 1);
                let passed = expected.iter().all(|told| told.0 == Verdict::Pass);
                assert_eq!(decision.admitted, passed, "{name}, step {}", number + 1);
                taken.extend(charged(&checks, decision));
            }
            for (key, state) in keys.into_iter().zip(held) {
                states.insert(key.clone(), state);
            }
            charges.push(taken);
        }
    }
}

#[test]
fn the_script_follows_every_hand_worked_history() {
    let server = RedisServer::start();
    let mut client = server.connect();
    for (number_of_history, (name, steps)) in histories().into_iter().enumerate() {
        let (mut charges, mut batch) = (Vec::<Vec<(String, Receipt)>>::new(), Batch::new());
        for (number, Step { at, what }) in steps.into_iter().enumerate() {
            batch.clear();
            match what {
                What::Request(checks, expected) => {
                    let named =
                        |check: Check<String>| Check { key: format!("{number_of_history}:{}", check.key), ..check };
                    let checks: Vec<_> = checks.into_iter().map(named).collect();
                    batch.push_many(&checks, expected.len() as u16);
                    let decisions = client.decide_at(at, &batch);
                    let answers: Vec<_> = decisions.iter().map(told).collect();
                    assert_eq!(answers, expected, "{name}, step {}", number + 1);
                    charges.push(decisions.into_iter().flat_map(|decision| charged(&checks, decision)).collect());
                }
                What::Refund(of, expected) => {
                    let given_back = std::mem::take(&mut charges[of]).into_iter().rev();
                    given_back.for_each(|(key, receipt)| batch.push_refund(key, receipt));
                    let told = if batch.is_empty() { vec![] } else { client.answer_at(at, &batch).refunds };
                    assert!(told.iter().all(|told| *told == expected), "{name}, step {}: {told:?}", number + 1);
                    charges.push(vec![]);
                }
            }
        }
    }
}

#[test]
fn every_variant_has_ten_histories_or_more() {
    for (variant, _) in FILES.iter().filter(|(file, _)| !["groups", "refunds", "coalesced"].contains(file)) {
        let count = histories().iter().filter(|(name, _)| name.starts_with(*variant)).count();
        assert!(count >= 10, "{variant} has {count}");
    }
}
