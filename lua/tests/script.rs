//! The script as it is sent: its digest is known to every Redis that runs it, so a change of it is a decision.

use std::time::Duration;

use weir_limiter::{Batch, Check, decide_script};

use crate::histories::variants;

#[test]
fn the_digest_is_frozen() {
    // when this fails on purpose: sidecars of both versions go on side by side, so states must mean the same to both
    assert_eq!(redis::Script::new(decide_script()).get_hash(), "079fce3e630a8c2d4617b60595b0b393144e22af");
}

#[test]
fn no_line_keeps_an_older_redis_from_loading_it() {
    assert!(!decide_script().starts_with("#!"));
    assert!(decide_script().is_ascii(), "a byte that a terminal or a log might change");
}

#[test]
fn a_call_brings_no_clock_of_its_caller() {
    let packed = || {
        let mut batch = Batch::new();
        for limit in variants(3, Duration::from_secs(1)) {
            batch.push(&[Check { key: limit.algorithm().name(), limit, cost: 1 }]);
        }
        batch.args().into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let first = packed();
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(packed(), first);
    // a third would be a test's clock
    assert_eq!(first.len(), 2);
}
