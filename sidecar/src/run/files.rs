//! How many files this process may have open, sockets included. Many systems begin at 1,024 and allow far more; at the
//! bound the kernel would keep out health checks and connections to the application as well as clients.
use rustix::process::{Resource, getrlimit, setrlimit};

/// What is no client's: listeners, the store, policies, and the admin interface with the probes that it runs.
const RESERVED: u64 = 160;

/// Raises the bound as far as this user may, and returns how many of `wanted` client connections fit below it, of which
/// `waiting` may have a request that waits: while it does, its client's socket is watched by one file more.
pub(super) fn make_room_for(wanted: usize, waiting: usize) -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let before = std::mem::replace(&mut limit.current, limit.maximum);
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::debug!(%error, "the number of open files can't be raised");
            limit.current = before;
        }
    }
    let Some(files) = limit.current else { return wanted };
    let fit = connections(files, waiting as u64).min(wanted);
    if fit < wanted {
        tracing::warn!(
            files,
            "only {fit} client connections at once instead of {wanted}: raise `ulimit -n`, or lower --max-connections"
        );
    }
    fit
}

/// How many client connections fit, each with one to the application; at least one. Where files are few, not all that may
/// wait have room: who is not watched is seen to leave when its connection is read again.
fn connections(files: u64, waiting: u64) -> usize {
    let free = files.saturating_sub(RESERVED + waiting.min(files / 4)).max(files / 2);
    usize::try_from(free / 2).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_has_two_and_some_are_left() {
        for (files, fit) in [(1 << 20, 523_708), (1024, 304), (320, 80), (128, 32), (2, 1), (0, 1)] {
            assert_eq!(connections(files, 1000), fit, "{files}");
        }
    }

    #[test]
    fn the_bound_is_as_high_as_it_may_be() {
        assert_eq!(make_room_for(1, 1), 1);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
