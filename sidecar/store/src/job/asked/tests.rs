use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use weir_limiter::{Limit, Quota};

use super::*;
use crate::key::{InstallKey, Namespace};

/// Key, N and cost.
type Asks = (u8, u64, u64);

const A: Asks = (1, 5, 1);
const B: Asks = (2, 5, 1);
const C: Asks = (3, 5, 1);
const A_UNDER_ANOTHER_LIMIT: Asks = (1, 6, 1);
const A_FOR_MORE: Asks = (1, 5, 2);
const NEVER: Asks = (4, 0, 1);

fn check(&(key, requests, cost): &Asks) -> Check<StateKey> {
    let limit = Limit::fixed_window(Quota::new(requests, Duration::from_secs(1)).unwrap());
    Check { key: StateKey::new(&InstallKey::ZEROS, &Namespace::new("shop").unwrap(), &[key]), limit, cost }
}

/// How many requests each entry has, when these come one after another.
fn entries(requests: &[&[Asks]]) -> Vec<u16> {
    let mut asked = Asked::default();
    for checks in requests {
        let checks = checks.iter().map(check).collect();
        let request = Request { checks, deadline: Instant::now(), reply: oneshot::channel().0 };
        if let Some(request) = asked.join(request) {
            asked.push(request);
        }
    }
    assert_eq!(asked.len(), requests.len());
    let mut batch = Batch::new();
    asked.pack(&mut batch);
    assert_eq!(batch.len(), requests.len());
    let entries = asked.entries.iter().map(Entry::number).collect();
    assert_eq!(asked.replies().count(), requests.len());
    assert!(asked.is_empty());
    entries
}

#[test]
fn those_that_ask_the_same_are_one() {
    assert_eq!(entries(&[&[A][..]; 64]), [64]);
    assert_eq!(entries(&[&[A, B][..]; 3]), [3]);
    // others of other keys may come between
    assert_eq!(entries(&[&[A], &[B], &[A], &[B]]), [2, 2]);
}

#[test]
fn another_limit_cost_or_order_is_not_the_same() {
    assert_eq!(entries(&[&[A], &[A_UNDER_ANOTHER_LIMIT]]), [1, 1]);
    assert_eq!(entries(&[&[A], &[A_FOR_MORE]]), [1, 1]);
    assert_eq!(entries(&[&[A], &[A, B]]), [1, 1]);
    assert_eq!(entries(&[&[A, B], &[A]]), [1, 1]);
    assert_eq!(entries(&[&[A, B], &[B, A]]), [1, 1]);
}

#[test]
fn nobody_is_let_before_one_who_asks_for_the_same_key() {
    assert_eq!(entries(&[&[A], &[A_FOR_MORE], &[A], &[A]]), [1, 1, 2]);
    assert_eq!(entries(&[&[A, B], &[B], &[A, B], &[B]]), [1, 1, 1, 1]);
    assert_eq!(entries(&[&[A], &[A], &[C, A], &[A]]), [2, 1, 1]);
    assert_eq!(entries(&[&[A], &[A, C], &[C], &[A, C]]), [1, 1, 1, 1]);
}

#[test]
fn what_one_entry_cannot_tell_stays_several() {
    assert_eq!(entries(&[&[A, A], &[A, A]]), [1, 1]);
    assert_eq!(entries(&[&[NEVER], &[NEVER]]), [1, 1]);
    assert_eq!(entries(&[&[], &[]]), [1, 1]);
}

#[test]
fn an_entry_holds_as_many_as_its_number_can_tell() {
    let most = usize::from(u16::MAX);
    assert_eq!(entries(&vec![&[A][..]; most + 2]), [u16::MAX, 2]);
}
