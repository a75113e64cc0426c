//! Step 5, update status: what is said about each policy is computed, and written where it differs from what stands there.
//! Has a client.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, Client, Resource};
use serde_json::{Value, json};
use weir_crds::{RateLimitPolicy, RateLimitPolicyStatus, reason};

use super::apply::Applied;
use super::dereference::Observed;
use super::memory::{Memory, WrittenStatus};
use super::pause::Pause;
use super::validate::Checked;
use super::watch::policy_resource;
use super::{FIELD_MANAGER, is_gone};
use crate::clock;
use crate::metrics::{Metrics, Write};
use crate::status::{self, Subject};

/// Progress that is only words (`3/20` after `2/20`) is written no more often than this.
const WORDS: Duration = Duration::from_secs(1);

/// What can fail.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("write the status of policy {0}: {1}")]
    Write(String, #[source] Box<kube::Error>),
}

/// How it went.
#[derive(Debug, Default)]
pub(super) struct Updated {
    /// When a status is to be written that could have been written now.
    pub(super) next: Option<Duration>,
    /// The first write that failed.
    pub(super) error: Option<Error>,
}

pub(super) async fn update_status(
    client: &Client,
    observed: &Observed,
    checked: &[Checked],
    applied: &Applied,
    install_key: &str,
    memory: &mut Memory,
    metrics: &Metrics,
) -> Updated {
    let mut updated = Updated::default();
    let exists = |uid: &String| checked.iter().any(|c| c.policy.entry.uid == *uid);
    memory.statuses.retain(|uid, _| exists(uid));
    memory.statuses_refused.retain(|uid, _| exists(uid));
    let now = clock::instant();
    memory.timings.see(checked.iter().map(|c| (c.policy.entry.uid.as_str(), c.policy.entry.generation)), now);
    // Too early to say whether the store is away: what was said before stands until then.
    let Some(reports) = &observed.reports else { return updated };
    let handed_out: HashMap<&str, i64> = applied.handed_out.iter().map(|(uid, g)| (uid.as_str(), *g)).collect();

    for one in checked {
        let entry = &one.policy.entry;
        let subject = Subject {
            entry,
            verdict: &one.verdict,
            handed_out: handed_out.get(entry.uid.as_str()).copied(),
            held_back: applied.held_back.as_ref(),
            pods: &observed.candidates,
            reports,
            install_key,
        };
        let change = change(one, subject, memory, now, clock::now());
        match change {
            Change::None => {}
            Change::Later(pause) => updated.next = updated.next.into_iter().chain([pause]).min(),
            Change::Write(new) => {
                let result = write(client, one, &new).await;
                metrics.wrote(Write::Status, result.is_ok());
                let refused = memory.statuses_refused.remove(&entry.uid);
                match result {
                    Ok(Some(version)) => {
                        let written = WrittenStatus { status: new.clone(), version, at: now };
                        memory.statuses.insert(entry.uid.clone(), written);
                    }
                    Ok(None) => {}
                    Err(error) => {
                        let pause = Pause::after(refused, clock::instant());
                        memory.statuses_refused.insert(entry.uid.clone(), pause);
                        updated.error.get_or_insert(error);
                        continue;
                    }
                }
                match status::enforced_reason(&new) {
                    Some(reason::ENFORCED) => {
                        if let Some(took) = memory.timings.enforced(&entry.uid, now) {
                            metrics.enforced_after(took);
                        }
                    }
                    Some(reason::PENDING) => {}
                    _ => memory.timings.forget(&entry.uid),
                }
            }
        }
    }
    updated
}

enum Change {
    None,
    Later(Duration),
    Write(RateLimitPolicyStatus),
}

/// What there is to write. What was written and has not come back through the watch yet counts as standing there.
fn change(checked: &Checked, subject: Subject<'_>, memory: &Memory, now: Instant, time: Timestamp) -> Change {
    let facts = &checked.policy;
    let written = memory.statuses.get(&facts.entry.uid);
    let previous = match written {
        Some(written) if written.version > facts.version => Some(&written.status),
        _ => facts.status.as_ref(),
    };
    let new = status::compute(subject, previous, time);
    if previous == Some(&new) {
        return Change::None;
    }
    if let Some(left) = memory.statuses_refused.get(&facts.entry.uid).and_then(|pause| pause.left(now)) {
        return Change::Later(left);
    }
    if let (Some(written), Some(previous)) = (written, previous)
        && status::differ_in_words_only(&new, previous)
    {
        let age = now.saturating_duration_since(written.at);
        if age < WORDS {
            return Change::Later(WORDS - age);
        }
    }
    Change::Write(new)
}

/// The version after the write; none if the policy has gone.
async fn write(
    client: &Client,
    checked: &Checked,
    status: &RateLimitPolicyStatus,
) -> Result<Option<super::facts::Version>, Error> {
    let entry = &checked.policy.entry;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &entry.namespace, &policy_resource());
    let patch = Patch::Apply(object(checked, status));
    match api.patch_status(&entry.name, &PatchParams::apply(FIELD_MANAGER).force(), &patch).await {
        Ok(written) => Ok(Some(super::facts::Version::of(&written))),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(Error::Write(entry.name.clone(), Box::new(error))),
    }
}

fn object(checked: &Checked, status: &RateLimitPolicyStatus) -> Value {
    let entry = &checked.policy.entry;
    json!({
        "apiVersion": RateLimitPolicy::api_version(&()),
        "kind": RateLimitPolicy::kind(&()),
        // With the uid, so that a policy that was made again in between does not get its predecessor's status.
        "metadata": {"name": entry.name, "namespace": entry.namespace, "uid": entry.uid},
        "status": status,
    })
}

// === impl Error ===

impl Error {
    /// For the metric.
    pub(super) fn category(&self) -> &'static str {
        match self {
            Self::Write(..) => "update_status",
        }
    }
}

#[cfg(test)]
mod tests;
