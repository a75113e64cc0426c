//! Step 3, build: what is to be written, as data. No client, and nothing of what is built here has been sent.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use weir_policy::PolicyDocument;

use super::dereference::Observed;
use super::facts::{PodFacts, Sidecar};
use super::memory::{BuiltFrom, Memory, WrittenMap};
use super::validate::Checked;
use crate::document::{self, Built};
use crate::events::{self, Reporter};
use crate::nudge::{Budget, Nudge};
use crate::rollout::{self, HandedOut, Look};
use crate::store_secret::StoreSecret;

/// How long a write is trusted that no watch has shown yet: after that, what the watch shows is taken for the truth.
const TRUST: Duration = Duration::from_secs(2);
/// A Secret can't be watched (there is no right to read it), so it is written again now and then.
const REWRITE_SECRET: Duration = Duration::from_secs(600);
/// And sooner while sidecars don't report: somebody may have deleted it, and without it they can't.
const REWRITE_MISSED_SECRET: Duration = Duration::from_secs(30);
/// What nobody needs any more is left for a while: the next pod of a CronJob would find nothing.
const LEAVE_UNUSED: Duration = Duration::from_secs(600);
/// A nudge that the budget had no room for is due at once, and would keep a namespace busy: a thousand pods would be looked at
/// for each single one of them.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// At most one event about drift in this time.
const TELL_DRIFT: Duration = Duration::from_secs(60);

/// What is to be done, in this order.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) remove: bool,
    pub(super) secret: Option<Arc<StoreSecret>>,
    pub(super) config_map: Option<Arc<Built>>,
    /// Why the ConfigMap does not hold the document and is not written now: it was tried a moment ago.
    pub(super) refused: Option<String>,
    pub(super) nudges: Vec<(String, Nudge)>,
    pub(super) events: Vec<Event>,
    /// The document that is to stand in the ConfigMap, and its policies; none where there is to be no ConfigMap.
    pub(super) document: Option<(Arc<Built>, Arc<Vec<HandedOut>>)>,
    /// When to look again though nothing changed.
    pub(super) next: Option<Duration>,
}

/// What building depends on beside the namespace.
#[derive(Debug)]
pub(super) struct Surroundings<'s> {
    pub(super) secret: &'s Arc<StoreSecret>,
    pub(super) reporter: &'s Reporter,
    pub(super) budget: &'s mut Budget,
    pub(super) now: Instant,
    pub(super) time: Timestamp,
}

pub(super) fn build(
    observed: &Observed,
    checked: &[Checked],
    memory: &mut Memory,
    around: Surroundings<'_>,
) -> Prepared {
    let Surroundings { secret, reporter, budget, now, time } = around;
    if observed.state.terminating {
        return Prepared::default();
    }
    if !is_needed(observed) {
        return remove(observed, memory, now);
    }
    memory.unused = None;
    let mut prepared = Prepared::default();
    let mut again = vec![REWRITE_SECRET];

    let built = built(observed, checked, memory);
    let handed_out = handed_out(&built, memory);
    if let Some(written) = &mut memory.config_map {
        written.shown |= observed.document.as_ref().is_some_and(|document| document.version >= written.version);
        if !written.shown {
            again.push(TRUST);
        }
    }
    if !stands(observed, memory.config_map.as_ref(), &built.json, now) {
        if is_drift(observed, memory.config_map.as_ref(), &built.json) {
            let quiet = memory.drift_told.is_some_and(|told| now.saturating_duration_since(told) < TELL_DRIFT);
            if let Some(document) = observed.document.as_ref().filter(|_| !quiet) {
                memory.drift_told = Some(now);
                prepared.events.push(events::put_back(reporter, &observed.namespace, document, time));
            }
        }
        match &memory.config_map_refused {
            Some((same, why, pause)) if same.json == built.json && pause.left(now).is_some() => {
                prepared.refused = Some(why.clone());
                again.extend(pause.left(now));
            }
            _ => {
                prepared.config_map = Some(built.clone());
                memory.rollout.reopen(now);
            }
        }
    }

    let rewrite = if memory.rollout.is_stalled(now) { REWRITE_MISSED_SECRET } else { REWRITE_SECRET };
    let fresh = memory
        .secret
        .as_ref()
        .is_some_and(|(written, at)| written == secret && now.saturating_duration_since(*at) < rewrite);
    let refused = memory.secret_refused.as_ref().filter(|(same, _)| same == secret);
    match refused.and_then(|(_, pause)| pause.left(now)) {
        Some(left) => again.push(left),
        None if !fresh => prepared.secret = Some(secret.clone()),
        None => {}
    }

    prepared.nudges = nudges(observed, &handed_out, &built, memory, budget, now, &mut again);
    match memory.events_refused.and_then(|pause| pause.left(now)) {
        Some(left) => again.push(left),
        None => prepared.events.extend(skips(observed, memory, reporter, time)),
    }
    prepared.document = Some((built, handed_out));
    prepared.next = again.into_iter().min();
    prepared
}

/// Whether pods of the namespace run with a sidecar, or may soon, or would find a policy that is no more.
fn is_needed(observed: &Observed) -> bool {
    let has_or_asked = |pod: &Arc<PodFacts>| pod.sidecar != Sidecar::Absent || pod.asked(&observed.state);
    observed.state.injection_enabled
        || !observed.policies.is_empty()
        || observed.pods.iter().any(has_or_asked)
        || observed.document.as_ref().is_some_and(|document| document.ours && !document.is_empty())
}

fn remove(observed: &Observed, memory: &mut Memory, now: Instant) -> Prepared {
    if !observed.document.as_ref().is_some_and(|document| document.ours) {
        memory.unused = None;
        return Prepared::default();
    }
    let unused = now.saturating_duration_since(*memory.unused.get_or_insert(now));
    let left = LEAVE_UNUSED.saturating_sub(unused);
    Prepared { remove: left.is_zero(), next: (!left.is_zero()).then_some(left), ..Prepared::default() }
}

/// The document, built again only when a policy came, went or changed.
fn built(observed: &Observed, checked: &[Checked], memory: &mut Memory) -> Arc<Built> {
    let from: BuiltFrom = checked.iter().map(|c| (c.policy.entry.uid.clone(), c.policy.entry.generation)).collect();
    if let Some((same, built)) = &memory.built
        && *same == from
    {
        return built.clone();
    }
    let good = memory.good.get_or_insert_with(|| Arc::new(standing(observed)));
    let built = Arc::new(document::build(checked.iter().map(|c| (&c.policy.entry, &*c.verdict)), good));
    memory.built = Some((from, built.clone()));
    built
}

/// What stands in the ConfigMap from before this term.
pub(super) fn standing(observed: &Observed) -> PolicyDocument {
    let json = observed.document.as_ref().and_then(|document| document.json.as_deref());
    json.and_then(|json| PolicyDocument::from_json(json).ok()).unwrap_or_default()
}

fn handed_out(built: &Arc<Built>, memory: &mut Memory) -> Arc<Vec<HandedOut>> {
    if let Some((of, handed_out)) = &memory.handed_out
        && Arc::ptr_eq(of, built)
    {
        return handed_out.clone();
    }
    let one = |entry| {
        let policy = weir_policy::compile(entry).ok()?;
        Some(HandedOut { uid: policy.id.uid, generation: policy.id.generation, selector: policy.selector })
    };
    let handed_out: Arc<Vec<HandedOut>> = Arc::new(built.document.policies.iter().filter_map(one).collect());
    memory.handed_out = Some((built.clone(), handed_out.clone()));
    handed_out
}

/// Whether the ConfigMap holds this text, as far as is known.
fn stands(observed: &Observed, written: Option<&WrittenMap>, json: &str, now: Instant) -> bool {
    let shown = observed.document.as_deref();
    let newer = written.filter(|written| match shown {
        Some(document) => written.version > document.version,
        // Not shown yet, or deleted since.
        None => !written.shown && now.saturating_duration_since(written.at) < TRUST,
    });
    match newer {
        Some(written) => written.json == json,
        None => shown.is_some_and(|document| document.json.as_deref() == Some(json)),
    }
}

/// Whether somebody else changed what was written.
fn is_drift(observed: &Observed, written: Option<&WrittenMap>, json: &str) -> bool {
    written.is_some_and(|written| {
        written.json == json && observed.document.as_ref().is_some_and(|document| document.version > written.version)
    })
}

fn nudges(
    observed: &Observed,
    handed_out: &[HandedOut],
    built: &Built,
    memory: &mut Memory,
    budget: &mut Budget,
    now: Instant,
    again: &mut Vec<Duration>,
) -> Vec<(String, Nudge)> {
    let revision = document::revision(&built.json);
    if memory.confirmed.0 != revision {
        memory.confirmed = (revision.clone(), HashSet::new());
    }
    let with_sidecar = || observed.candidates.iter().filter(|pod| pod.has_sidecar);
    let lagging = match &observed.reports {
        Some(Ok(reports)) => rollout::lagging(&observed.candidates, handed_out, reports),
        // Nobody can be heard: whoever was not heard before may lag.
        _ => with_sidecar().filter(|pod| !memory.confirmed.1.contains(&pod.uid)).collect(),
    };
    let look = match &observed.reports {
        _ if with_sidecar().next().is_none() => Look::Idle,
        Some(Ok(_)) if !lagging.is_empty() => Look::Lagging,
        Some(Ok(_)) if observed.policies.is_empty() => Look::Idle,
        Some(Ok(_)) => Look::Settled,
        Some(Err(_)) | None => Look::Unknown,
    };
    again.extend(memory.rollout.look(look, now));
    let lags: HashSet<&str> = lagging.iter().map(|pod| pod.uid.as_str()).collect();
    memory.confirmed.1 = with_sidecar().filter(|p| !lags.contains(p.uid.as_str())).map(|p| p.uid.clone()).collect();
    let due = memory.nudges.due(lagging.iter().map(|pod| pod.uid.as_str()), &revision, now, budget);
    again.extend(memory.nudges.next().map(|next| next.saturating_duration_since(now).max(LEAST_PAUSE)));
    let name = |uid: &str| lagging.iter().find(|pod| pod.uid == uid).map(|pod| pod.name.clone());
    due.into_iter().filter_map(|nudge| Some((name(&nudge.pod_uid)?, nudge))).collect()
}

/// Events about pods that were left out, those that were not sent yet.
fn skips(observed: &Observed, memory: &mut Memory, reporter: &Reporter, time: Timestamp) -> Vec<Event> {
    let mut now_true = HashSet::new();
    let mut events = Vec::new();
    for pod in &observed.pods {
        let Some(reason) = &pod.skipped else { continue };
        let event = events::skipped(reporter, &observed.namespace, pod, reason, time);
        let Some(name) = event.metadata.name.clone() else { continue };
        if now_true.insert(name.clone()) && !memory.told.contains(&name) {
            events.push(event);
        }
    }
    memory.told.retain(|name| now_true.contains(name));
    events
}

#[cfg(test)]
mod tests;
