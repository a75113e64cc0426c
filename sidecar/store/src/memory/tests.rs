use std::time::Duration;

use weir_limiter::{Quota, Verdict};

use super::*;
use crate::key::{InstallKey, Namespace};

fn window(requests: u64, period: Duration) -> Limit {
    Limit::fixed_window(Quota::new(requests, period).unwrap())
}

fn check(identity: u64, limit: Limit) -> Check<StateKey> {
    let namespace = Namespace::new("shop").unwrap();
    Check { key: StateKey::new(&InstallKey::ZEROS, &namespace, &identity.to_le_bytes()), limit, cost: 1 }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_refused_request_passes_exactly_at_its_wait_and_not_before() {
    let store = MemoryStore::default();
    let limit = [check(1, window(1, MINUTE))];
    assert!(store.decide(at(630), &limit).admitted);
    let Verdict::Wait(wait) = store.decide(at(631), &limit).outcomes[0].verdict else { panic!() };
    let then = at(631).as_micros() + u64::try_from(wait.as_micros()).unwrap();
    assert!(!store.decide(Timestamp::from_micros(then - 1), &limit).admitted);
    assert!(store.decide(Timestamp::from_micros(then), &limit).admitted);
}

#[test]
fn dead_states_are_swept_out_as_others_come() {
    let store = MemoryStore::default();
    for second in 0..200_u64 {
        for caller in 0..100 {
            // each lives for a second at most
            let _ = store.decide(at(second), &[check(second * 100 + caller, window(1, Duration::from_secs(1)))]);
        }
    }
    assert!(store.len() <= SHARDS * SMALL + 200, "{}", store.len());
}

#[test]
fn the_bound_holds_and_those_that_end_soonest_go_first() {
    let store = MemoryStore::with_bound(64 * 80);
    let lasting: Vec<_> = (0..1000).map(|caller| check(caller, window(5, Duration::from_secs(3600)))).collect();
    for check in &lasting {
        assert!(store.decide(at(0), std::slice::from_ref(check)).admitted);
    }
    for caller in 10_000..60_000 {
        let _ = store.decide(at(1), &[check(caller, window(5, MINUTE))]);
        assert!(caller % 1000 > 0 || store.len() <= 64 * 80, "{}", store.len());
    }
    let kept = lasting.iter().filter(|check| store.decide(at(2), &[(*check).clone()]).outcomes[0].remaining == 3);
    assert_eq!(kept.count(), 1000);
}

#[test]
fn a_refused_request_and_a_read_add_no_state() {
    let store = MemoryStore::default();
    let none = [check(1, window(5, MINUTE)), check(2, window(0, MINUTE))];
    assert!(!store.decide(at(1), &none).admitted);
    let read = Check { cost: 0, ..check(3, window(5, MINUTE)) };
    assert_eq!(store.decide(at(1), &[read]).outcomes[0].remaining, 5);
    assert!(store.is_empty());
}

#[test]
fn logs_count_by_the_room_they_take_and_the_soonest_to_end_make_room() {
    const UNITS: u64 = 10_000;
    let log = Limit::sliding_log(Quota::new(UNITS, MINUTE).unwrap()).unwrap();
    // room for about 40 such logs, of 80 KB each, where there would be room for 12,800 windows
    let store = MemoryStore::with_bound(SHARDS * 200);
    for key in 0..1_000 {
        let full = Check { cost: UNITS, ..check(key, log) };
        assert!(store.decide(at(1), &[full]).admitted);
    }
    assert!(store.len() <= SHARDS, "{} logs are held", store.len());
    let weight: usize = store.inner.shards.iter().map(|shard| lock(shard).weight).sum();
    let held: usize = store
        .inner
        .shards
        .iter()
        .flat_map(|shard| lock(shard).states.values().map(|h| h.weight).collect::<Vec<_>>())
        .sum();
    assert_eq!(weight, held, "what is counted is what is held");
    // what came last is still counted
    let newest = Check { cost: 1, ..check(999, log) };
    assert!(!store.decide(at(2), &[newest]).admitted);
}

#[test]
fn checks_on_one_key_in_one_request_add_up() {
    let store = MemoryStore::default();
    let twice = [check(1, window(3, MINUTE)), check(1, window(3, MINUTE))];
    assert!(store.decide(at(1), &twice).admitted);
    assert!(!store.decide(at(1), &twice).admitted);
    assert!(store.decide(at(1), &twice[..1]).admitted);
}

#[test]
fn what_a_request_took_is_given_back_and_told() {
    #[derive(Default)]
    struct Heard(Mutex<Refunds>);
    impl Observer for Heard {
        fn refunds(&self, refunds: Refunds) {
            *self.0.lock().unwrap() = refunds;
        }
    }
    let heard = Arc::new(Heard::default());
    let store = MemoryStore::observed_by(Arc::<Heard>::clone(&heard));
    let queue = Limit::leaky_queue(Quota::new(1, MINUTE).unwrap(), Some(5), Duration::ZERO).unwrap();
    // twice on one key, which can only be given back last first
    let checks = [check(1, window(5, MINUTE)), check(2, queue), check(2, queue), check(3, window(5, MINUTE))];
    let take = || {
        let decision = store.decide(at(601), &checks);
        checks.iter().zip(decision.outcomes).map(|(check, told)| (check.key, told.receipt.unwrap())).collect::<Vec<_>>()
    };
    let mut charges = take();
    charges.remove(3);
    store.refund(at(601), charges);
    assert_eq!(*heard.0.lock().unwrap(), Refunds { given_back: 3, nothing_left: 0, lost: 0 });
    let left =
        |place: usize| store.decide(at(601), &[Check { cost: 0, ..checks[place].clone() }]).outcomes[0].remaining;
    assert_eq!([0, 1, 3].map(left), [5, 5, 4]);
    // the windows have ended by then
    store.refund(at(700), take().into_iter().take(1).collect());
    assert_eq!(*heard.0.lock().unwrap(), Refunds { given_back: 0, nothing_left: 1, lost: 0 });
}

#[test]
fn a_refund_adds_no_state() {
    let (charged, other) = (MemoryStore::default(), MemoryStore::default());
    let check = check(1, window(5, MINUTE));
    let receipt = charged.decide(at(1), std::slice::from_ref(&check)).outcomes.remove(0).receipt.unwrap();
    other.refund(at(1), vec![(check.key, receipt)]);
    assert!(other.is_empty());
}

proptest::proptest! {
    #[test]
    fn shards_decide_as_one_table_of_states_would(
        requests in proptest::collection::vec(
            (0..50_u64, proptest::collection::vec((0..12_u64, 0..4_u64), 1..5)), 1..80),
    ) {
        let store = MemoryStore::default();
        let mut table: HashMap<StateKey, State> = HashMap::new();
        let mut now = 1_000;
        for (later, wanted) in requests {
            now += later;
            let limit = |identity| window(1 + identity, MINUTE);
            let checks: Vec<_> =
                wanted.into_iter().map(|(identity, cost)| Check { cost, ..check(identity, limit(identity)) }).collect();
            let mut keys: Vec<StateKey> = Vec::new();
            let slots: Vec<usize> = checks.iter().map(|check| {
                keys.iter().position(|key| *key == check.key).unwrap_or_else(|| { keys.push(check.key); keys.len() - 1 })
            }).collect();
            let mut states: Vec<Option<State>> = keys.iter().map(|key| table.get(key).cloned()).collect();
            let limits: Vec<_> = checks.iter().map(|check| (check.limit, check.cost)).collect();
            let expected = decide_shared(at(now), &limits, &slots, &mut states);
            for (key, state) in keys.into_iter().zip(states) {
                state.map(|state| table.insert(key, state));
            }
            proptest::prop_assert_eq!(store.decide(at(now), &checks), expected);
        }
    }
}
