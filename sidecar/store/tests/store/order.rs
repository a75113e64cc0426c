//! Many callers at once on one store are answered as if they had come one after another, in the order in which they asked,
//! however few entries of a call they are.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_limiter::{Check, Decision, Limit, Quota, Timestamp, Verdict};
use weir_store::{Credentials, MemoryStore, Observer, Reason, StateKey, Store};

use crate::server::Server;
use crate::subject::{PATIENT, bucket, check, every_kind, until_decided, window};

/// How many decisions each call carried.
#[derive(Default)]
struct Calls(Mutex<Vec<usize>>);

impl Observer for Calls {
    fn call(&self, decisions: usize, _: Duration, _: Option<Reason>) {
        self.0.lock().unwrap().push(decisions);
    }
}

type Question = Vec<Check<StateKey>>;

/// What is asked: first what many ask for, then what shares keys with it.
fn questions() -> (Vec<Question>, Vec<Question>) {
    let never = Limit::fixed_window(Quota::new(0, Duration::from_secs(1)).unwrap());
    let mut hot: Vec<_> = every_kind(120).into_iter().map(|(name, limit)| vec![check(name, limit)]).collect();
    hot.push(vec![check("pair", window(200)), check("of it", bucket(170))]);
    let mut others: Vec<_> = hot.iter().map(|checks| vec![Check { cost: 2, ..checks[0].clone() }]).collect();
    others.extend(hot.iter().map(|checks| vec![Check { cost: 0, ..checks[0].clone() }]));
    // two of what many ask for, and both ways round
    others.extend(hot.windows(2).map(|pair| pair.concat()));
    others.extend(hot.windows(2).map(|pair| pair.iter().rev().flatten().cloned().collect()));
    // what is never one entry
    others.push(vec![check("never", never)]);
    others.push(vec![hot[0][0].clone(), hot[0][0].clone()]);
    (hot, others)
}

/// What does not depend on when it was asked: whether it passed, and of each check the verdict's kind and what remains.
fn told(decision: &Decision) -> (bool, Vec<(&'static str, u64)>) {
    let kind = |verdict| match verdict {
        Verdict::Pass => "pass",
        Verdict::Wait(_) => "wait",
        Verdict::Never => "never",
    };
    (decision.admitted, decision.outcomes.iter().map(|outcome| (kind(outcome.verdict), outcome.remaining)).collect())
}

/// One thread, so that callers ask in the order in which they are spawned, and all have asked before the first is answered.
#[tokio::test]
async fn who_ask_at_once_are_answered_in_the_order_of_asking() {
    let server = Server::start();
    let calls = Arc::new(Calls::default());
    let store = Store::open_with(Some(&server.url()), Credentials::None, Arc::<Calls>::clone(&calls), PATIENT).unwrap();
    until_decided(&store).await;
    server.freeze();
    let ((hot, others), asked) = (questions(), Arc::new(Mutex::new(Vec::new())));
    let (mut callers, mut noise) = (tokio::task::JoinSet::new(), 1_u64);
    for _ in 0..3_000 {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let among = if noise >> 60 == 0 { &others } else { &hot };
        let checks = among[(noise >> 32) as usize % among.len()].clone();
        let (store, asked) = (store.clone(), Arc::clone(&asked));
        callers.spawn(async move {
            let place = {
                let mut asked = asked.lock().unwrap();
                asked.push(checks.clone());
                asked.len() - 1
            };
            (place, store.decide(&checks).await.unwrap())
        });
    }
    while asked.lock().unwrap().len() < 3_000 {
        tokio::task::yield_now().await;
    }
    server.thaw();
    let mut answers = callers.join_all().await;
    answers.sort_unstable_by_key(|(place, _)| *place);

    let (memory, now) = (MemoryStore::default(), Timestamp::from_micros(1_800_000_000_000_000));
    for ((place, decision), checks) in answers.iter().zip(asked.lock().unwrap().iter()) {
        assert_eq!(told(decision), told(&memory.decide(now, checks)), "who asked as number {place} for {checks:?}");
    }
    let calls = calls.0.lock().unwrap();
    assert!(calls.iter().any(|decisions| *decisions > 256), "no call carried more than one each: {calls:?}");
    server.assert_every_key_has_a_ttl();
}
