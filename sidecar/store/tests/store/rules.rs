//! What holds for every store: the same rules over memory and over Redis.

use std::time::Duration;

use weir_limiter::{Check, Limit, Quota, Verdict};
use weir_store::Store;

use crate::subject::{bucket, check, every_kind, variants, window};

for_every_store!(
    every_algorithm_admits_its_capacity_and_counts_down,
    of_several_limits_all_are_charged_or_none,
    a_cost_above_the_capacity_can_never_pass,
    a_quota_of_nothing_refuses_all_and_reads_too,
    a_read_is_always_admitted_and_takes_nothing,
    a_queue_tells_each_when_it_departs_and_refuses_who_would_wait_too_long,
    no_checks_are_admitted,
    another_key_is_untouched,
    callers_of_one_key_at_once_share_out_what_there_is,
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
    for (name, limit) in every_kind(5) {
        let dear = Check { cost: 6, ..check(name, limit) };
        let refused = store.decide(&[dear]).await.unwrap();
        assert!(!refused.admitted, "{name}");
        assert_eq!((refused.outcomes[0].verdict, refused.outcomes[0].remaining), (Verdict::Never, 5), "{name}");
    }
}

async fn a_quota_of_nothing_refuses_all_and_reads_too(store: Store, _: Store) {
    for (name, limit) in nothing() {
        for cost in [0, 1, 7] {
            let refused = store.decide(&[Check { cost, ..check(name, limit) }]).await.unwrap();
            let told = &refused.outcomes[0];
            assert!(!refused.admitted, "{name}, cost {cost}");
            assert_eq!((told.verdict, told.remaining), (Verdict::Never, 0), "{name}, cost {cost}");
        }
    }
}

fn nothing() -> Vec<(&'static str, Limit)> {
    let quota = Quota::new(0, Duration::from_secs(60)).unwrap();
    vec![
        ("FixedWindow", Limit::fixed_window(quota)),
        ("SlidingWindow", Limit::sliding_window(quota)),
        ("SlidingLog", Limit::sliding_log(quota).unwrap()),
        ("TokenBucket", Limit::token_bucket(quota, 7).unwrap()),
        ("LeakyBucket", Limit::leaky_bucket(quota, 7).unwrap()),
        ("queue", Limit::leaky_queue(quota, Some(7), Duration::from_secs(1)).unwrap()),
    ]
}

async fn a_read_is_always_admitted_and_takes_nothing(store: Store, other: Store) {
    for (name, limit) in every_kind(5) {
        let (read, all) = (Check { cost: 0, ..check(name, limit) }, Check { cost: 5, ..check(name, limit) });
        let (read, all) = (std::slice::from_ref(&read), std::slice::from_ref(&all));
        for _ in 0..3 {
            assert_eq!(remaining(&store, read).await, Some(vec![5]), "{name}");
        }
        assert_eq!(remaining(&other, all).await, Some(vec![0]), "{name}");
        assert_eq!(remaining(&other, all).await, None, "{name}");
        assert_eq!(remaining(&store, read).await, Some(vec![0]), "{name}");
    }
}

async fn a_queue_tells_each_when_it_departs_and_refuses_who_would_wait_too_long(store: Store, other: Store) {
    // one each 200 s, so that none departs during the test; three have room
    let queue = Limit::leaky_queue(Quota::new(18, Duration::from_secs(3600)).unwrap(), None, Duration::from_secs(500));
    let queue = queue.unwrap();
    let mut delays = vec![];
    for (store, admitted) in [(&store, true), (&other, true), (&store, true), (&other, false), (&store, false)] {
        let decision = store.decide(&[check("queue", queue)]).await.unwrap();
        assert_eq!(decision.admitted, admitted);
        assert_eq!(matches!(decision.outcomes[0].verdict, Verdict::Wait(_)), !admitted);
        delays.push(decision.outcomes[0].delay.as_secs_f64());
    }
    assert_eq!((delays[0], delays[3], delays[4]), (0.0, 0.0, 0.0));
    // less what passed between the calls
    assert!((100.0..=200.0).contains(&delays[1]) && (300.0..=400.0).contains(&delays[2]), "{delays:?}");
    assert!((delays[2] - delays[1] - 200.0).abs() < 100.0, "{delays:?}");
    // who waits no longer than nothing passes only where nobody is before
    let hurried = queue.waiting_at_most(Duration::ZERO);
    assert!(!store.decide(&[check("queue", hurried)]).await.unwrap().admitted);
    assert!(store.decide(&[check("another queue", hurried)]).await.unwrap().admitted);
    assert!(!other.decide(&[check("another queue", hurried)]).await.unwrap().admitted);
    assert!(other.decide(&[check("another queue", queue)]).await.unwrap().admitted);
}

async fn no_checks_are_admitted(store: Store, _: Store) {
    assert!(store.decide(&[]).await.unwrap().admitted);
}

async fn another_key_is_untouched(store: Store, _: Store) {
    assert_eq!(remaining(&store, &[check("a", window(1))]).await, Some(vec![0]));
    assert_eq!(remaining(&store, &[check("a", window(1))]).await, None);
    assert_eq!(remaining(&store, &[check("b", window(1))]).await, Some(vec![0]));
}

async fn callers_of_one_key_at_once_share_out_what_there_is(store: Store, _: Store) {
    for (name, limit) in every_kind(20) {
        // half of them ask for a second one too
        let checks = [check(name, limit), check(&format!("{name}, second"), window(50))];
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..128 {
            let (store, checks) = (store.clone(), checks.clone());
            callers.spawn(async move { store.decide(&checks[..1 + caller % 2]).await.unwrap() });
        }
        let (admitted, refused): (Vec<_>, Vec<_>) =
            callers.join_all().await.into_iter().partition(|decision| decision.admitted);
        // a queue has nobody wait as long as its next unit takes
        let share = if limit.max_wait().is_some() { 1 } else { 20 };
        assert_eq!((admitted.len(), refused.len()), (share, 128 - share), "{name}");
        assert!(refused.iter().all(|decision| matches!(decision.outcomes[0].verdict, Verdict::Wait(_))), "{name}");
        let of_both: Vec<_> = admitted.iter().filter_map(|decision| decision.outcomes.get(1)).collect();
        let mut second: Vec<_> = of_both.iter().map(|outcome| outcome.remaining).collect();
        second.sort_unstable_by(|a, b| b.cmp(a));
        assert!(second.iter().copied().eq((0..50).rev().take(of_both.len())), "{name}: {second:?}");
        if limit.max_wait().is_none() {
            let mut left: Vec<_> = admitted.iter().map(|decision| decision.outcomes[0].remaining).collect();
            left.sort_unstable();
            assert!(left.iter().copied().eq(0..20), "{name}: {left:?}");
        }
    }
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
