use super::*;

fn opened(now: Instant) -> Breaker {
    let mut breaker = Breaker::new();
    for _ in 0..FAILURES {
        breaker.failed(now, 0.5);
    }
    breaker
}

#[test]
fn three_failures_in_a_row_open_it() {
    let now = Instant::now();
    let mut breaker = Breaker::new();
    breaker.failed(now, 0.5);
    breaker.failed(now, 0.5);
    assert_eq!(breaker.state(), BreakerState::Closed);
    breaker.failed(now, 0.5);
    assert_eq!(breaker.state(), BreakerState::Open);
    assert_eq!(breaker.probe_at(), Some(now + FIRST_WAIT));
}

#[test]
fn an_answer_between_failures_starts_the_count_again() {
    let now = Instant::now();
    let mut breaker = Breaker::new();
    for _ in 0..10 {
        breaker.failed(now, 0.5);
        breaker.failed(now, 0.5);
        breaker.answered();
    }
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[test]
fn one_probe_is_out_at_a_time() {
    let mut breaker = opened(Instant::now());
    breaker.probe_started();
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert_eq!(breaker.probe_at(), None);
}

#[test]
fn an_answered_probe_closes_it_and_a_failed_one_opens_it_again() {
    let now = Instant::now();
    let mut breaker = opened(now);
    breaker.probe_started();
    breaker.failed(now, 0.5);
    assert_eq!(breaker.state(), BreakerState::Open);
    breaker.probe_started();
    breaker.probe_answered();
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[test]
fn after_a_probe_the_first_failed_call_opens_it_and_the_back_off_goes_on() {
    let now = Instant::now();
    let mut breaker = opened(now);
    breaker.probe_started();
    breaker.probe_answered();
    breaker.failed(now, 0.5);
    assert_eq!(breaker.probe_at(), Some(now + 2 * FIRST_WAIT));
}

#[test]
fn after_an_answered_call_all_is_as_at_first() {
    let now = Instant::now();
    let mut breaker = opened(now);
    breaker.probe_started();
    breaker.probe_answered();
    breaker.answered();
    breaker.failed(now, 0.5);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[test]
fn the_wait_for_a_probe_grows_to_half_a_second_at_most_and_is_spread() {
    let now = Instant::now();
    let mut breaker = opened(now);
    for _ in 0..20 {
        breaker.probe_started();
        breaker.failed(now, 1.0);
        let wait = breaker.probe_at().unwrap() - now;
        assert!(wait <= Duration::from_millis(500), "{wait:?}");
    }
    let longest = breaker.probe_at().unwrap();
    breaker.probe_started();
    breaker.failed(now, 0.0);
    assert!(breaker.probe_at().unwrap() < longest);
}
