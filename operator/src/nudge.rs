//! When a pod whose sidecar lags is nudged. The kubelet looks at a mounted ConfigMap about once a minute, and at once when
//! the pod changes; it must have seen the new ConfigMap by then, so one nudge may not be enough. Pure: who sends them is the
//! controller.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Since the first nudge: at these times another one, then one every [`PATIENT`].
const TIMES: [Duration; 7] = [
    Duration::ZERO,
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
];
/// By now something else is wrong with the pod; a nudge in a while costs little.
const PATIENT: Duration = Duration::from_secs(60);

/// The nudges of one namespace's pods, by pod uid.
#[derive(Debug, Default)]
pub(crate) struct Nudges {
    pods: HashMap<String, Sent>,
}

#[derive(Debug)]
struct Sent {
    revision: String,
    first: Instant,
    times: u32,
    next: Instant,
}

/// One nudge: the annotation's new value differs from every earlier one, or the kubelet would see no change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nudge {
    pub(crate) pod_uid: String,
    pub(crate) value: String,
}

/// How many nudges may go out: so many a second, all namespaces together.
#[derive(Debug)]
pub(crate) struct Budget {
    per_second: u32,
    left: f64,
    counted: Instant,
}

// === impl Nudges ===

impl Nudges {
    /// The nudges to send now to pods that lag behind `revision`, as far as `budget` has room. A pod that no longer lags is
    /// forgotten.
    pub(crate) fn due<'p>(
        &mut self,
        lagging: impl IntoIterator<Item = &'p str>,
        revision: &str,
        now: Instant,
        budget: &mut Budget,
    ) -> Vec<Nudge> {
        let lagging: Vec<&str> = lagging.into_iter().collect();
        let still: HashSet<&str> = lagging.iter().copied().collect();
        self.pods.retain(|uid, sent| still.contains(uid.as_str()) && sent.revision == revision);
        let mut nudges = Vec::new();
        for uid in lagging {
            let sent = self.pods.entry(uid.to_owned()).or_insert_with(|| Sent {
                revision: revision.to_owned(),
                first: now,
                times: 0,
                next: now,
            });
            if sent.next > now || !budget.take(now) {
                continue;
            }
            sent.times += 1;
            // Later than the plan where the budget was short: the pause counts from what was really sent.
            let planned = TIMES.get(sent.times as usize).map(|after| sent.first + *after);
            sent.next = planned.map_or(now + PATIENT, |planned| planned.max(now + TIMES[1]));
            nudges.push(Nudge { pod_uid: uid.to_owned(), value: format!("{revision}.{}", sent.times) });
        }
        nudges
    }

    /// When the next nudge is due, should its pod still lag.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.pods.values().map(|sent| sent.next).min()
    }
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new(per_second: u32, now: Instant) -> Self {
        Self { per_second, left: f64::from(per_second), counted: now }
    }

    fn take(&mut self, now: Instant) -> bool {
        let rate = f64::from(self.per_second);
        self.left = (self.left + now.saturating_duration_since(self.counted).as_secs_f64() * rate).min(rate);
        self.counted = now;
        let room = self.left >= 1.0;
        if room {
            self.left -= 1.0;
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ample(now: Instant) -> Budget {
        Budget::new(1_000_000, now)
    }

    fn sent_at(nudges: &mut Nudges, start: Instant, until: u64, revision: &str) -> Vec<u64> {
        let mut budget = ample(start);
        let due = |at: &u64| !nudges.due(["pod"], revision, start + Duration::from_millis(*at), &mut budget).is_empty();
        (0..=until).step_by(100).filter(due).collect()
    }

    #[test]
    fn a_pod_that_lags_is_nudged_at_once_and_then_at_growing_intervals() {
        let times = sent_at(&mut Nudges::default(), Instant::now(), 140_000, "r");
        assert_eq!(times, [0, 300, 1000, 2000, 4000, 8000, 16_000, 76_000, 136_000]);
    }

    #[test]
    fn a_new_revision_starts_over() {
        let (mut nudges, start) = (Nudges::default(), Instant::now());
        assert_eq!(sent_at(&mut nudges, start, 5000, "one").len(), 5);
        assert_eq!(sent_at(&mut nudges, start + Duration::from_secs(5), 200, "two"), [0]);
    }

    #[test]
    fn a_pod_that_reports_is_left_alone() {
        let (mut nudges, now) = (Nudges::default(), Instant::now());
        assert_eq!(nudges.due(["a", "b"], "r", now, &mut ample(now)).len(), 2);
        assert!(nudges.due(["b"], "r", now, &mut ample(now)).is_empty());
        assert!(nudges.next().is_some_and(|next| next == now + TIMES[1]));
        nudges.due([], "r", now, &mut ample(now));
        assert_eq!(nudges.next(), None);
    }

    #[test]
    fn every_nudge_changes_the_annotation() {
        let (mut nudges, start) = (Nudges::default(), Instant::now());
        let values: HashSet<String> = (0..200)
            .flat_map(|tenth| {
                let now = start + Duration::from_millis(tenth * 100);
                nudges.due(["pod"], "r", now, &mut ample(now))
            })
            .map(|nudge| nudge.value)
            .collect();
        assert_eq!(values.len(), 7);
    }

    #[test]
    fn a_short_budget_delays_nudges_and_loses_none() {
        let start = Instant::now();
        let (mut nudges, mut budget) = (Nudges::default(), Budget::new(50, start));
        let pods: Vec<String> = (0..120).map(|i| format!("pod-{i}")).collect();
        let mut lagging: Vec<&str> = pods.iter().map(String::as_str).collect();
        let mut sent = Vec::new();
        for tenth in 0..=15 {
            let now = start + Duration::from_millis(tenth * 100);
            let nudged = nudges.due(lagging.iter().copied(), "r", now, &mut budget);
            // a nudged pod reports at once
            lagging.retain(|uid| nudged.iter().all(|nudge| nudge.pod_uid != *uid));
            sent.push(nudged.len());
        }
        assert_eq!(sent[0], 50);
        assert!(sent[1..].iter().all(|n| (4..=6).contains(n) || *n == 0), "{sent:?}");
        assert_eq!(sent.iter().sum::<usize>(), 120);
    }
}
