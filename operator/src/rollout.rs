//! How a namespace's sidecars follow its document: which of them lag, how soon to look again, and how long a policy took from
//! being seen to being enforced everywhere. Pure; the looking is the controller's.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use weir_policy::Selector;
use weir_store::Heartbeat;

use crate::status::Candidate;

/// While a rollout is open.
const OFTEN: Duration = Duration::from_millis(100);
/// How long a rollout is watched that closely: a sidecar that takes longer is stuck, and is noticed a second later.
const HURRY: Duration = Duration::from_secs(60);
/// While a rollout stays open, or nothing can be learned.
const STUCK: Duration = Duration::from_secs(1);
/// While all report what they should: a sidecar that stops is noticed when its report ends, and within this.
const SETTLED: Duration = Duration::from_secs(2);
/// A rollout that takes longer waits for something other than time.
const STALLED: Duration = Duration::from_secs(10);

/// One policy of the document that was handed out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HandedOut {
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) selector: Selector,
}

/// What a look at the reports showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// There is nothing to wait for.
    Idle,
    /// Every sidecar reports just what it should.
    Settled,
    /// One or more lag.
    Lagging,
    /// The store doesn't answer.
    Unknown,
}

/// Whether a namespace's document is on its way, and since when.
#[derive(Debug, Default)]
pub(crate) struct Rollout {
    open: Option<Instant>,
}

/// When each policy's generation was first seen, until it is enforced.
#[derive(Debug, Default)]
pub(crate) struct Timings {
    policies: HashMap<String, (i64, Option<Instant>)>,
    /// What is seen on the first look has an unknown age.
    looked: bool,
}

/// The sidecars that don't report exactly the policies they should.
pub(crate) fn lagging<'c>(
    pods: &'c [Candidate],
    handed_out: &[HandedOut],
    reports: &HashMap<String, Heartbeat>,
) -> Vec<&'c Candidate> {
    let lags = |pod: &&Candidate| {
        let Some(report) = reports.get(&pod.uid) else { return true };
        let due: HashSet<(&str, i64)> = handed_out
            .iter()
            .filter(|policy| policy.selector.matches(&pod.labels))
            .map(|policy| (policy.uid.as_str(), policy.generation))
            .collect();
        let held: HashSet<(&str, i64)> = report.policies.iter().map(|p| (p.uid.as_str(), p.generation)).collect();
        held != due
    };
    pods.iter().filter(|pod| pod.has_sidecar).filter(lags).collect()
}

// === impl Rollout ===

impl Rollout {
    /// Takes a look in; the answer is how soon to look again, if time alone can change anything.
    pub(crate) fn look(&mut self, look: Look, now: Instant) -> Option<Duration> {
        match look {
            Look::Idle => {
                self.open = None;
                None
            }
            Look::Settled => {
                self.open = None;
                Some(SETTLED)
            }
            Look::Unknown => Some(STUCK),
            Look::Lagging => {
                let since = *self.open.get_or_insert(now);
                Some(if now.saturating_duration_since(since) < HURRY { OFTEN } else { STUCK })
            }
        }
    }

    /// Whether sidecars lag for so long that what they need may be missing.
    pub(crate) fn is_stalled(&self, now: Instant) -> bool {
        self.open.is_some_and(|since| now.saturating_duration_since(since) >= STALLED)
    }

    /// A new document was handed out.
    pub(crate) fn reopen(&mut self, now: Instant) {
        self.open = Some(now);
    }
}

// === impl Timings ===

impl Timings {
    /// These are the policies there are, by uid and generation.
    pub(crate) fn see<'p>(&mut self, policies: impl IntoIterator<Item = (&'p str, i64)>, now: Instant) {
        let mut old = std::mem::take(&mut self.policies);
        for (uid, generation) in policies {
            let known = old.remove(uid).filter(|(before, _)| *before == generation);
            self.policies.insert(uid.to_owned(), known.unwrap_or((generation, self.looked.then_some(now))));
        }
        self.looked = true;
    }

    /// The policy is enforced; the answer is how long that took, once per generation.
    pub(crate) fn enforced(&mut self, uid: &str, now: Instant) -> Option<Duration> {
        let seen = self.policies.get_mut(uid)?.1.take()?;
        Some(now.saturating_duration_since(seen))
    }

    /// Something other than time stands between the policy and being enforced: it is not measured.
    pub(crate) fn forget(&mut self, uid: &str) {
        if let Some(known) = self.policies.get_mut(uid) {
            known.1 = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_store::PolicyReport;

    use super::*;

    fn pod(uid: &str) -> Candidate {
        Candidate { name: uid.into(), uid: uid.into(), labels: [].into(), has_sidecar: true, skipped: None }
    }

    fn report(uid: &str, policies: &[(&str, i64)]) -> (String, Heartbeat) {
        let mut heartbeat = Heartbeat::new(uid, "key", "connected");
        let one = |(uid, generation): &(&str, i64)| PolicyReport { uid: (*uid).to_owned(), generation: *generation };
        heartbeat.policies = policies.iter().map(one).collect();
        (uid.to_owned(), heartbeat)
    }

    fn handed_out(policies: &[(&str, i64)]) -> Vec<HandedOut> {
        let one = |(uid, generation): &(&str, i64)| HandedOut {
            uid: (*uid).to_owned(),
            generation: *generation,
            selector: Selector::default(),
        };
        policies.iter().map(one).collect()
    }

    #[test]
    fn a_sidecar_lags_until_it_reports_exactly_what_was_handed_out() {
        let pods = [pod("silent"), pod("old"), pod("extra"), pod("missing"), pod("right")];
        let reports = HashMap::from([
            report("old", &[("a", 1), ("b", 1)]),
            report("extra", &[("a", 2), ("b", 1), ("deleted", 5)]),
            report("missing", &[("a", 2)]),
            report("right", &[("b", 1), ("a", 2)]),
        ]);
        let lagging = lagging(&pods, &handed_out(&[("a", 2), ("b", 1)]), &reports);
        let names: Vec<&str> = lagging.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, ["silent", "old", "extra", "missing"]);
    }

    #[test]
    fn a_pod_without_a_sidecar_is_never_waited_for() {
        let pods = [Candidate { has_sidecar: false, ..pod("plain") }];
        assert!(lagging(&pods, &handed_out(&[("a", 1)]), &HashMap::new()).is_empty());
    }

    #[test]
    fn an_open_rollout_is_watched_closely_and_a_stuck_one_less() {
        let (mut rollout, start) = (Rollout::default(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        assert_eq!(rollout.look(Look::Lagging, at(0)), Some(OFTEN));
        assert!(!rollout.is_stalled(at(9)) && rollout.is_stalled(at(10)));
        assert_eq!(rollout.look(Look::Lagging, at(59)), Some(OFTEN));
        assert_eq!(rollout.look(Look::Lagging, at(60)), Some(STUCK));
        rollout.reopen(at(61));
        assert!(!rollout.is_stalled(at(62)));
        assert_eq!(rollout.look(Look::Lagging, at(62)), Some(OFTEN));
        assert_eq!(rollout.look(Look::Settled, at(63)), Some(SETTLED));
        assert_eq!(rollout.look(Look::Lagging, at(200)), Some(OFTEN));
    }

    #[test]
    fn without_anything_to_wait_for_time_changes_nothing() {
        let (mut rollout, now) = (Rollout::default(), Instant::now());
        assert_eq!(rollout.look(Look::Idle, now), None);
        assert_eq!(rollout.look(Look::Unknown, now), Some(STUCK));
    }

    #[test]
    fn a_generation_is_measured_once_and_only_if_it_was_seen_to_begin() {
        let (mut timings, start) = (Timings::default(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        timings.see([("a", 1)], at(0));
        assert_eq!(timings.enforced("a", at(1)), None, "it was there before the first look");
        timings.see([("a", 2), ("b", 1)], at(2));
        timings.see([("a", 2), ("b", 1)], at(3));
        assert_eq!(timings.enforced("a", at(4)), Some(Duration::from_secs(2)));
        assert_eq!(timings.enforced("a", at(5)), None);
        timings.forget("b");
        assert_eq!(timings.enforced("b", at(6)), None);
    }
}
