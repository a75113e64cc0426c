//! The decisions of an election. A lease's own times are never compared with this machine's clock: what counts is how long
//! ago this replica saw the lease change. Pure.

use std::time::{Duration, Instant};

/// How long the lease holds after its last change, as others see it.
pub(super) const DURATION: Duration = Duration::from_secs(8);
/// How long the leader goes on after its last success, measured from before it asked: well before others may take over.
const LEADS: Duration = Duration::from_secs(5);
/// How often the leader renews.
const RENEW: Duration = Duration::from_secs(2);
/// How often the others look, and how soon the leader tries again.
const LOOK: Duration = Duration::from_secs(1);
/// How long a request may take where no right to lead ends before.
const ASK: Duration = Duration::from_secs(5);
/// The longest that a lease's own word on its duration is believed.
const LONGEST: Duration = Duration::from_secs(60);

/// What a look at the lease showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// None when it was given back.
    pub(super) holder: Option<String>,
    /// Changes with each write.
    pub(super) version: String,
    pub(super) duration: Duration,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Create,
    Take,
    Renew,
    Wait,
}

/// One replica's view.
#[derive(Debug)]
pub(super) struct Election {
    me: String,
    /// The version that was seen last, and when it was seen first.
    version: Option<(String, Instant)>,
    /// When the last write that succeeded was begun.
    won: Option<Instant>,
}

// === impl Election ===

impl Election {
    pub(super) fn new(me: &str) -> Self {
        Self { me: me.to_owned(), version: None, won: None }
    }

    /// What to do now.
    pub(super) fn decide(&mut self, seen: Option<&Seen>, now: Instant) -> Step {
        let Some(seen) = seen else {
            self.won = None;
            return Step::Create;
        };
        let since = match &self.version {
            Some((version, since)) if *version == seen.version => *since,
            _ => {
                self.version = Some((seen.version.clone(), now));
                now
            }
        };
        let Some(holder) = &seen.holder else { return Step::Take };
        if *holder == self.me {
            return Step::Renew;
        }
        self.won = None;
        let patience = seen.duration.clamp(LOOK, LONGEST);
        if now.saturating_duration_since(since) >= patience { Step::Take } else { Step::Wait }
    }

    /// A write that was begun at `when` succeeded.
    pub(super) fn won(&mut self, when: Instant) {
        self.won = Some(when);
    }

    /// Until when this replica may lead without another success.
    pub(super) fn leads_until(&self) -> Option<Instant> {
        self.won.map(|won| won + LEADS)
    }

    /// Until when a request that is begun now is waited for: while leading, no longer than the right to lead.
    pub(super) fn ask_until(&self, now: Instant) -> Instant {
        self.leads_until().filter(|until| now < *until).unwrap_or(now + ASK)
    }

    /// Whether this replica may lead.
    pub(super) fn leads(&self, now: Instant) -> bool {
        self.leads_until().is_some_and(|until| now < until)
    }

    /// How long until the next look.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        match self.won {
            Some(won) if self.leads(now) => {
                let renewed_now = now.saturating_duration_since(won) < LOOK;
                let pause = if renewed_now { RENEW } else { LOOK };
                pause.min((won + LEADS).saturating_duration_since(now))
            }
            _ => LOOK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(holder: Option<&str>, version: &str) -> Seen {
        Seen { holder: holder.map(str::to_owned), version: version.to_owned(), duration: DURATION }
    }

    fn at(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn the_first_replica_makes_the_lease_and_a_given_back_one_is_taken_at_once() {
        let (mut election, start) = (Election::new("me"), Instant::now());
        assert_eq!(election.decide(None, start), Step::Create);
        assert_eq!(election.decide(Some(&seen(None, "5")), start), Step::Take);
    }

    #[test]
    fn a_silent_holder_is_waited_for_from_when_it_was_last_seen_to_write() {
        let (mut election, start) = (Election::new("me"), Instant::now());
        assert_eq!(election.decide(Some(&seen(Some("other"), "1")), at(start, 0)), Step::Wait);
        assert_eq!(election.decide(Some(&seen(Some("other"), "1")), at(start, 7999)), Step::Wait);
        assert_eq!(election.decide(Some(&seen(Some("other"), "2")), at(start, 8000)), Step::Wait);
        assert_eq!(election.decide(Some(&seen(Some("other"), "2")), at(start, 15_999)), Step::Wait);
        assert_eq!(election.decide(Some(&seen(Some("other"), "2")), at(start, 16_000)), Step::Take);
    }

    #[test]
    fn a_leader_stops_before_anybody_may_take_over() {
        let (mut election, start) = (Election::new("me"), Instant::now());
        assert!(!election.leads(start));
        election.won(start);
        assert!(election.leads(at(start, 4999)));
        assert!(!election.leads(at(start, 5000)));
        assert!(LEADS < DURATION);
    }

    #[test]
    fn a_leader_renews_its_own_lease_and_yields_when_it_is_anothers() {
        let (mut election, start) = (Election::new("me"), Instant::now());
        election.won(start);
        assert_eq!(election.decide(Some(&seen(Some("me"), "1")), start), Step::Renew);
        assert!(election.leads(start));
        assert_eq!(election.decide(Some(&seen(Some("other"), "2")), start), Step::Wait);
        assert!(!election.leads(start), "at once, not at the deadline");
    }

    #[test]
    fn who_has_lost_the_lead_has_time_to_ask_again() {
        let (mut election, start) = (Election::new("me"), Instant::now());
        assert_eq!(election.ask_until(start), at(start, 5000));
        election.won(start);
        assert_eq!(election.ask_until(at(start, 4000)), at(start, 5000));
        assert_eq!(election.ask_until(at(start, 9000)), at(start, 14_000));
    }

    #[test]
    fn a_deleted_lease_ends_the_term_until_it_is_made_again() {
        let (mut election, start) = (Election::new("me"), Instant::now());
        election.won(start);
        assert_eq!(election.decide(None, start), Step::Create);
        assert!(!election.leads(start));
    }

    #[test]
    fn a_leader_that_fails_to_renew_looks_again_sooner_and_never_sleeps_past_its_deadline() {
        let (mut election, start) = (Election::new("me"), Instant::now());
        election.won(start);
        assert_eq!(election.pause(at(start, 10)), RENEW);
        assert_eq!(election.pause(at(start, 2500)), LOOK);
        assert_eq!(election.pause(at(start, 4600)), Duration::from_millis(400));
        assert_eq!(election.pause(at(start, 6000)), LOOK);
    }
}
