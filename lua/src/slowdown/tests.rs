use super::*;

fn slowdown(from_percent: u8, max_delay: Duration) -> Slowdown {
    Slowdown::new(from_percent, max_delay).unwrap()
}

#[test]
fn the_delay_grows_in_proportion_from_its_share_to_the_whole() {
    let second = slowdown(80, Duration::from_secs(1));
    for (remaining, millis) in [(100, 0), (50, 0), (21, 0), (20, 0), (19, 50), (10, 500), (1, 950), (0, 1_000)] {
        assert_eq!(second.delay(100, remaining), Duration::from_millis(millis), "{remaining} left");
    }
}

#[test]
fn part_of_a_microsecond_is_rounded_up() {
    // 1/3 of the way from 0 to 1 ms
    assert_eq!(slowdown(0, Duration::from_millis(1)).delay(3, 2), Duration::from_micros(334));
    // the smallest share above what is free is a microsecond, not nothing
    let one = slowdown(50, Duration::from_millis(1));
    assert_eq!(one.delay(1_000_000_000, 499_999_999), Duration::from_micros(1));
    assert_eq!(one.delay(1_000_000_000, 500_000_000), Duration::ZERO);
}

#[test]
fn nothing_used_or_nothing_to_use_is_no_delay() {
    let from_the_first = slowdown(0, Slowdown::MOST_MAX_DELAY);
    assert_eq!(from_the_first.delay(10, 10), Duration::ZERO);
    assert_eq!(from_the_first.delay(0, 0), Duration::ZERO);
    assert_eq!(from_the_first.delay(10, 11), Duration::ZERO);
}

#[test]
fn the_longest_delay_is_reached_at_the_largest_capacity_and_never_passed() {
    for from_percent in [0, 1, 50, 99] {
        let longest = slowdown(from_percent, Slowdown::MOST_MAX_DELAY);
        assert_eq!(longest.delay(1_000_000_000, 0), Slowdown::MOST_MAX_DELAY);
        assert_eq!(longest.delay(u64::MAX, 0), Slowdown::MOST_MAX_DELAY);
    }
}

#[test]
fn what_is_out_of_range_is_told_by_its_name() {
    assert_eq!(Slowdown::new(100, Duration::from_secs(1)), Err(InvalidSlowdown::FromPercent(100)));
    for wrong in
        [Duration::ZERO, Duration::from_micros(999), Duration::from_millis(600_001), Duration::from_nanos(1_000_001)]
    {
        assert_eq!(Slowdown::new(0, wrong), Err(InvalidSlowdown::MaxDelay(wrong)));
    }
    assert!(Slowdown::new(99, Duration::from_millis(1)).is_ok());
    let error = InvalidSlowdown::MaxDelay(Duration::ZERO).to_string();
    assert!(error.starts_with("maxDelay must be 1ms to 10m"), "{error}");
}
