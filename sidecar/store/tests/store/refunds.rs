//! What is given back to any store: the same rules over memory and over Redis.

use weir_limiter::{Algorithm, Check, Verdict};
use weir_store::Store;

use crate::subject::{charges, check, every_kind, variants, window};

for_every_store!(
    what_is_given_back_can_be_charged_again,
    what_is_given_back_of_several_limits_is_given_back_to_each,
    a_refused_request_and_a_read_have_nothing_to_give_back,
    parallel_callers_that_give_back_make_room_for_no_more_than_that,
);

async fn what_is_given_back_can_be_charged_again(store: Store, other: Store) {
    for (name, limit) in every_kind(5) {
        let all = [Check { cost: 5, ..check(name, limit) }];
        let first = store.decide(&all).await.unwrap();
        assert!(first.admitted && !other.decide(&all).await.unwrap().admitted, "{name}");
        store.refund(charges(&all, first));
        store.refunded().await;
        let again = other.decide(&all).await.unwrap();
        assert!(again.admitted && !store.decide(&all).await.unwrap().admitted, "{name}: {again:?}");
    }
}

async fn what_is_given_back_of_several_limits_is_given_back_to_each(store: Store, other: Store) {
    let all: Vec<_> = every_kind(5).into_iter().map(|(name, limit)| Check { cost: 5, ..check(name, limit) }).collect();
    let first = store.decide(&all).await.unwrap();
    assert!(first.admitted);
    store.refund(charges(&all, first));
    store.refunded().await;
    for check in &all {
        assert!(other.decide(std::slice::from_ref(check)).await.unwrap().admitted, "{:?}", check.limit);
    }
}

async fn a_refused_request_and_a_read_have_nothing_to_give_back(store: Store, _: Store) {
    for (name, limit) in every_kind(1) {
        let one = [check(name, limit)];
        assert_eq!(charges(&one, store.decide(&one).await.unwrap()).len(), 1, "{name}");
        for cost in [0, 1, 2] {
            let checks = [Check { cost, ..check(name, limit) }];
            assert!(charges(&checks, store.decide(&checks).await.unwrap()).is_empty(), "{name}, cost {cost}");
        }
    }
    // nor has the one of two limits that would have passed
    let both = [check("wide", window(5)), check(every_kind(1)[0].0, every_kind(1)[0].1)];
    let refused = store.decide(&both).await.unwrap();
    assert_eq!((refused.admitted, refused.outcomes[0].verdict), (false, Verdict::Pass));
    assert!(charges(&both, refused).is_empty());
}

async fn parallel_callers_that_give_back_make_room_for_no_more_than_that(store: Store, other: Store) {
    for limit in variants(200) {
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..32 {
            let store = if caller % 2 == 0 { store.clone() } else { other.clone() };
            callers.spawn(async move {
                let (check, mut kept) = ([check(limit.algorithm().name(), limit)], 0);
                for step in 0..30 {
                    let charges = charges(&check, store.decide(&check).await.unwrap());
                    if step % 3 == 0 {
                        store.refund(charges);
                    } else {
                        kept += charges.len() as u64;
                    }
                }
                kept
            });
        }
        let kept: u64 = callers.join_all().await.into_iter().sum();
        store.refunded().await;
        other.refunded().await;
        let read = Check { cost: 0, ..check(limit.algorithm().name(), limit) };
        let left = store.decide(&[read]).await.unwrap().outcomes[0].remaining;
        match limit.algorithm() {
            Algorithm::FixedWindow => assert_eq!(kept + left, 200, "{limit:?}"),
            // where what others charged since depends on it, a charge stays or a part of it
            _ => assert!(kept + left <= 200, "{limit:?}: {kept} and {left}"),
        }
    }
}
