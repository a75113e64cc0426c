//! Waiting for the thing itself.
use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Long enough for a machine with two busy cores; a test that needs it all has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Looks every 100 ms until `look` gives something; else fails with what it last said.
pub(crate) fn until<T, E: Debug>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    until_within(PATIENCE, what, &mut look)
}

/// The same with another bound.
pub(crate) fn until_within<T, E: Debug>(at_most: Duration, what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let started = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(last) if started.elapsed() > at_most => panic!("{what}: not within {at_most:?}; last seen: {last:#?}"),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

/// Fixed windows begin at multiples of their period: with less than `need` left of the present one, waits for the next, so
/// that what a test counts lies in one window.
pub(crate) fn enough_is_left(of: Duration, need: Duration) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let left = Duration::from_secs(of.as_secs() - now % of.as_secs());
    if left < need {
        std::thread::sleep(left + Duration::from_secs(1));
    }
}
