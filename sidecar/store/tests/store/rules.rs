//! What holds for every store: the same rules over memory and over Redis.

use weir_limiter::{Check, Verdict};
use weir_store::Store;

use crate::server::Server;
use crate::subject::{bucket, check, patient, variants, window};

macro_rules! for_every_store {
    ($($rule:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                let store = weir_store::Store::Memory(weir_store::MemoryStore::default());
                super::$rule(store.clone(), store).await;
            })*
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                let server = super::Server::start();
                super::$rule(super::patient(&server.url()), super::patient(&server.url())).await;
                server.assert_every_key_has_a_ttl();
            })*
        }
    };
}

for_every_store!(
    every_algorithm_admits_its_capacity_and_counts_down,
    of_several_limits_all_are_charged_or_none,
    a_cost_above_the_capacity_can_never_pass,
    no_checks_are_admitted,
    another_key_is_untouched,
    parallel_callers_are_admitted_exactly_to_the_limit,
    parallel_callers_over_crossing_sets_of_limits_are_admitted_exactly,
);

async fn remaining(store: &Store, checks: &[Check<weir_store::StateKey>]) -> Option<Vec<u64>> {
    let decision = store.decide(checks).await.unwrap();
    assert_eq!(decision.outcomes.len(), checks.len());
    decision.admitted.then(|| decision.outcomes.iter().map(|outcome| outcome.remaining).collect())
}

async fn every_algorithm_admits_its_capacity_and_counts_down(store: Store, other: Store) {
    for limit in variants(5) {
        let check = check(limit.algorithm().name(), limit);
        for left in [4, 3, 2, 1, 0] {
            assert_eq!(remaining(&store, std::slice::from_ref(&check)).await, Some(vec![left]));
        }
        let refused = other.decide(std::slice::from_ref(&check)).await.unwrap();
        assert!(!refused.admitted && matches!(refused.outcomes[0].verdict, Verdict::Wait(_)), "{refused:?}");
    }
}

async fn of_several_limits_all_are_charged_or_none(store: Store, other: Store) {
    let both = [check("wide", window(10)), check("narrow", bucket(2))];
    assert_eq!(remaining(&store, &both).await, Some(vec![9, 1]));
    assert_eq!(remaining(&other, &both).await, Some(vec![8, 0]));
    for _ in 0..3 {
        let refused = store.decide(&both).await.unwrap();
        assert!(!refused.admitted);
        assert_eq!(refused.outcomes[0].verdict, Verdict::Pass);
        assert_eq!(refused.outcomes[0].remaining, 8);
    }
    assert_eq!(remaining(&store, &both[..1]).await, Some(vec![7]));
}

async fn a_cost_above_the_capacity_can_never_pass(store: Store, _: Store) {
    let dear = Check { cost: 6, ..check("a", window(5)) };
    assert_eq!(store.decide(&[dear]).await.unwrap().outcomes[0].verdict, Verdict::Never);
    let closed = store.decide(&[check("closed", window(0))]).await.unwrap();
    assert!(!closed.admitted);
    assert_eq!(closed.outcomes[0].verdict, Verdict::Never);
}

async fn no_checks_are_admitted(store: Store, _: Store) {
    assert!(store.decide(&[]).await.unwrap().admitted);
}

async fn another_key_is_untouched(store: Store, _: Store) {
    assert_eq!(remaining(&store, &[check("a", window(1))]).await, Some(vec![0]));
    assert_eq!(remaining(&store, &[check("a", window(1))]).await, None);
    assert_eq!(remaining(&store, &[check("b", window(1))]).await, Some(vec![0]));
}

async fn parallel_callers_are_admitted_exactly_to_the_limit(store: Store, other: Store) {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..64 {
        let store = if caller % 2 == 0 { store.clone() } else { other.clone() };
        callers.spawn(async move {
            let mut admitted = [0; 5];
            for _ in 0..5 {
                for (admitted, limit) in admitted.iter_mut().zip(variants(200)) {
                    let decision = store.decide(&[check(limit.algorithm().name(), limit)]).await.unwrap();
                    *admitted += u32::from(decision.admitted);
                }
            }
            admitted
        });
    }
    let all = callers.join_all().await;
    for (i, limit) in variants(200).iter().enumerate() {
        assert_eq!(all.iter().map(|admitted| admitted[i]).sum::<u32>(), 200, "{}", limit.algorithm().name());
    }
}

async fn parallel_callers_over_crossing_sets_of_limits_are_admitted_exactly(store: Store, other: Store) {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..32_usize {
        let store = if caller.is_multiple_of(2) { store.clone() } else { other.clone() };
        callers.spawn(async move {
            let mut admitted = 0;
            for step in 0..40 {
                // two limits of its own and one that all share, in every order
                let mut checks = vec![
                    check(&format!("own-{}", caller % 8), window(1000)),
                    check(&format!("own-{}", (caller + 1 + step % 7) % 8), window(1000)),
                    check("shared", window(500)),
                ];
                checks.rotate_left(step % 3);
                admitted += u32::from(store.decide(&checks).await.unwrap().admitted);
            }
            admitted
        });
    }
    assert_eq!(callers.join_all().await.iter().sum::<u32>(), 500);
    // each admitted request charged two of the eight
    let mut charged = 0;
    for own in 0..8 {
        let left = remaining(&store, &[check(&format!("own-{own}"), window(1000))]).await.unwrap()[0];
        charged += 1000 - 1 - left;
    }
    assert_eq!(charged, 1000);
}
