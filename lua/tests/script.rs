//! The script as it is sent: its digest is known to every Redis that runs it, so a change of it is a decision.

use weir_limiter::decide_script;

#[test]
fn the_digest_is_frozen() {
    // when this fails on purpose: sidecars of both versions go on side by side, so states must mean the same to both
    assert_eq!(redis::Script::new(decide_script()).get_hash(), "56801bb96559ab30bba4d66693b6bbb7a67eaa42");
}

#[test]
fn no_line_keeps_an_older_redis_from_loading_it() {
    assert!(!decide_script().starts_with("#!"));
    assert!(decide_script().is_ascii(), "a byte that a terminal or a log might change");
}
