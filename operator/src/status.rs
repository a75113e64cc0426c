//! What is said about a policy, as data: from what was compiled, handed out and reported to the status that a person reads.
//! Pure: writing it, and only when it changed, is the controller's.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use weir_crds::{RateLimitPolicyStatus, condition, reason};
use weir_policy::{Faults, Policy, PolicyEntry};
use weir_store::Heartbeat;

/// A condition's message ends at 32,768 characters.
const LONGEST_MESSAGE: usize = 30_000;
/// How many pods a message names.
const NAMED: usize = 5;

/// A running pod that counts: it has a started sidecar, or was to have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) has_sidecar: bool,
    /// Why the injector left it out.
    pub(crate) skipped: Option<String>,
}

/// What sidecars report, by pod uid, or why that can't be learned.
pub(crate) type Reports = Result<HashMap<String, Heartbeat>, String>;

/// Why a generation is not in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// All policies together have so many bytes, of so many at most.
    TooLarge { bytes: usize, most: usize },
    /// The ConfigMap could not be written.
    WriteFailed(String),
}

/// All that a policy's status depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'s> {
    pub(crate) entry: &'s PolicyEntry,
    pub(crate) verdict: &'s Result<Policy, Faults>,
    /// The generation that the ConfigMap holds.
    pub(crate) handed_out: Option<i64>,
    pub(crate) held_back: Option<&'s HeldBack>,
    pub(crate) pods: &'s [Candidate],
    pub(crate) reports: &'s Reports,
    /// [`weir_store::InstallKey::id`] of this install.
    pub(crate) install_key: &'s str,
}

/// One condition before it has a time.
struct Said {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// The status of a policy. A condition whose status is the same as in `previous` keeps the time of its last transition.
pub(crate) fn compute(
    subject: Subject<'_>,
    previous: Option<&RateLimitPolicyStatus>,
    now: Timestamp,
) -> RateLimitPolicyStatus {
    let (enforced, sidecars) = enforced(subject);
    let limits = match subject.verdict {
        Ok(policy) => Some(policy.limits.len()),
        Err(_) => subject.entry.spec["limits"].as_array().map(Vec::len),
    };
    let conditions = [accepted(subject), programmed(subject), enforced];
    RateLimitPolicyStatus {
        conditions: conditions.map(|said| said.at(subject.entry.generation, previous, now)).into(),
        observed_generation: Some(subject.entry.generation),
        limits: limits.and_then(|count| i64::try_from(count).ok()),
        sidecars,
    }
}

/// The reason of the condition Enforced.
pub(crate) fn enforced_reason(status: &RateLimitPolicyStatus) -> Option<&str> {
    let enforced = status.conditions.iter().find(|c| c.type_ == condition::ENFORCED)?;
    Some(&enforced.reason)
}

/// True when the two say the same, but for words and counts: who waits for a condition misses nothing by the one.
pub(crate) fn differ_in_words_only(a: &RateLimitPolicyStatus, b: &RateLimitPolicyStatus) -> bool {
    let gist = |status: &RateLimitPolicyStatus| {
        let conditions = status.conditions.iter();
        let conditions: Vec<_> = conditions.map(|c| (c.type_.clone(), c.status.clone(), c.reason.clone())).collect();
        (conditions, status.observed_generation, status.limits)
    };
    gist(a) == gist(b)
}

fn accepted(subject: Subject<'_>) -> Said {
    let (status, reason, message) = match subject.verdict {
        Ok(policy) if policy.warnings.is_empty() => ("True", reason::VALID, String::new()),
        Ok(policy) => {
            let warnings: Vec<String> = policy.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
            ("True", reason::VALID, warnings.join("\n"))
        }
        Err(faults) => ("False", reason::INVALID, faults.to_string()),
    };
    Said { type_: condition::ACCEPTED, status, reason, message }
}

fn programmed(subject: Subject<'_>) -> Said {
    let generation = subject.entry.generation;
    let stays = match subject.handed_out {
        Some(older) => format!("; generation {older} stays in force"),
        None => String::new(),
    };
    let (status, reason, message) = match (subject.handed_out, subject.verdict, subject.held_back) {
        (Some(held), Ok(_), _) if held == generation => ("True", reason::PROGRAMMED, String::new()),
        (_, Err(_), _) => ("False", reason::INVALID, format!("generation {generation} is not handed out{stays}")),
        (_, _, Some(HeldBack::TooLarge { bytes, most })) => {
            let message = format!(
                "all policies of the namespace together are {bytes} bytes, and a ConfigMap takes {most}: make them \
                 smaller or spread them over namespaces{stays}"
            );
            ("False", reason::DOCUMENT_TOO_LARGE, message)
        }
        (_, _, Some(HeldBack::WriteFailed(why))) => {
            ("False", reason::WRITE_FAILED, format!("write the ConfigMap: {why}{stays}"))
        }
        (_, Ok(_), None) => ("False", reason::PENDING, format!("generation {generation} is not written yet{stays}")),
    };
    Said { type_: condition::PROGRAMMED, status, reason, message }
}

/// The condition and the column.
fn enforced(subject: Subject<'_>) -> (Said, Option<String>) {
    let said = |status, reason, message| Said { type_: condition::ENFORCED, status, reason, message };
    let generation = subject.entry.generation;
    let Ok(policy) = subject.verdict else {
        let message = format!("generation {generation} is not handed out");
        return (said("False", reason::INVALID, message), None);
    };
    let selected: Vec<&Candidate> = subject.pods.iter().filter(|pod| policy.selector.matches(&pod.labels)).collect();
    let total = selected.len();
    if total == 0 {
        let message = "no running pod with a sidecar is selected".to_owned();
        return (said("False", reason::NO_PODS, message), Some("0/0".to_owned()));
    }
    let without: Vec<String> = selected.iter().filter(|pod| !pod.has_sidecar).map(|pod| left_out(pod)).collect();
    let (ratio, lagging) = match subject.reports {
        Ok(reports) => {
            let with = selected.iter().filter(|pod| pod.has_sidecar);
            let lagging: Vec<String> = with.filter_map(|pod| lag(subject, pod, reports.get(&pod.uid))).collect();
            (format!("{}/{total}", total - without.len() - lagging.len()), lagging)
        }
        Err(_) => (format!("?/{total}"), Vec::new()),
    };
    let said = if !without.is_empty() {
        let message = format!("{ratio}: without a sidecar: {}; a pod gets one when it is created", named(&without));
        said("False", reason::PODS_WITHOUT_SIDECAR, message)
    } else if let Err(why) = subject.reports {
        said("Unknown", reason::STORE_UNREACHABLE, format!("{ratio}: sidecars report through the store: {why}"))
    } else if !lagging.is_empty() {
        said("False", reason::PENDING, format!("{ratio}: {}", named(&lagging)))
    } else {
        said("True", reason::ENFORCED, ratio.clone())
    };
    (said, Some(ratio))
}

fn left_out(pod: &Candidate) -> String {
    match &pod.skipped {
        Some(reason) => format!("{} ({})", pod.name, shortened(reason, 100)),
        None => pod.name.clone(),
    }
}

/// What keeps a sidecar from counting; none if nothing does.
fn lag(subject: Subject<'_>, pod: &Candidate, report: Option<&Heartbeat>) -> Option<String> {
    let (uid, generation) = (&subject.entry.uid, subject.entry.generation);
    let name = &pod.name;
    let Some(report) = report else { return Some(format!("{name} (does not report)")) };
    if report.generation_of(uid) == Some(generation) {
        // With another key it counts for itself alone.
        let other = report.install_key != subject.install_key;
        return other.then(|| format!("{name} (counts under another install key)"));
    }
    let refused = report.rejected.iter().find(|policy| policy.uid == *uid && policy.generation == generation);
    Some(match (refused, report.generation_of(uid)) {
        (Some(refused), _) => {
            let why = refused.message.lines().next().unwrap_or_default();
            format!("{name} (refuses it: {})", shortened(why, 200))
        }
        (None, Some(other)) => format!("{name} (runs generation {other})"),
        (None, None) => format!("{name} (does not run it yet)"),
    })
}

fn named(pods: &[String]) -> String {
    let more = pods.len().saturating_sub(NAMED);
    let list = pods[..pods.len().min(NAMED)].join(", ");
    if more == 0 { list } else { format!("{list} and {more} more") }
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

// === impl Said ===

impl Said {
    fn at(self, generation: i64, previous: Option<&RateLimitPolicyStatus>, now: Timestamp) -> Condition {
        let before = previous.and_then(|status| status.conditions.iter().find(|c| c.type_ == self.type_));
        let kept = before.filter(|before| before.status == self.status).map(|b| b.last_transition_time.clone());
        Condition {
            type_: self.type_.to_owned(),
            status: self.status.to_owned(),
            reason: self.reason.to_owned(),
            message: shortened(&self.message, LONGEST_MESSAGE),
            observed_generation: Some(generation),
            // The API server keeps whole seconds.
            last_transition_time: kept.unwrap_or_else(|| Time(whole_seconds(now))),
        }
    }
}

fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests;
