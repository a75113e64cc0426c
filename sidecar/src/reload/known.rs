//! The policies this sidecar knows, and which of them can run: pure, from one document to the next. Of a policy whose new
//! version can't be taken the last good one stays; a policy that is no longer in the document is gone.
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use weir_policy::{Policy, PolicyEntry};
use weir_store::Namespace;

/// A policy as it runs, and the namespace its counts lie under.
#[derive(Clone, Debug)]
pub struct Running {
    /// The policy.
    pub policy: Arc<Policy>,
    /// Its namespace.
    pub namespace: Namespace,
}

/// A version of a policy that can't be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Why, one fault a line.
    pub message: String,
}

/// What is known of one policy.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The entry that `running` was made of.
    entry: Option<PolicyEntry>,
    /// The last good version, if there was one.
    pub running: Option<Running>,
    /// The newest version, when it can't be taken.
    pub rejected: Option<Rejected>,
}

/// All policies of the last document that could be read, by namespace and name.
#[derive(Clone, Debug, Default)]
pub struct Known(BTreeMap<(String, String), Slot>);

impl Known {
    /// What is known after a document with these entries. Of a sidecar that enforces one `namespace` only, others' policies
    /// are rejected. An entry that did not change is not compiled again.
    #[must_use]
    pub fn next(&self, entries: Vec<PolicyEntry>, namespace: Option<&str>) -> Self {
        let mut next: BTreeMap<(String, String), Slot> = BTreeMap::new();
        for entry in entries {
            let name = (entry.namespace.clone(), entry.name.clone());
            let before = self.0.get(&name);
            let slot = if let Some(twin) = next.get(&name) {
                let message = "is there twice; keep one of the two, or give one another name".to_owned();
                twin.rejecting(&entry, message)
            } else if let Some(before) = before.filter(|before| before.entry.as_ref() == Some(&entry)) {
                Slot { rejected: None, ..before.clone() }
            } else {
                let last_good = before.cloned().unwrap_or(Slot { entry: None, running: None, rejected: None });
                match run(&entry, namespace) {
                    Ok(running) => Slot { entry: Some(entry), running: Some(running), rejected: None },
                    Err(message) => last_good.rejecting(&entry, message),
                }
            };
            next.insert(name, slot);
        }
        Self(next)
    }

    /// True when there is no policy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every policy, ordered by namespace and name.
    pub fn slots(&self) -> impl Iterator<Item = (&(String, String), &Slot)> {
        self.0.iter()
    }

    /// Those that run, selected by these labels; without labels all.
    #[must_use]
    pub fn selected(&self, labels: Option<&BTreeMap<String, String>>) -> Vec<Running> {
        let runs = self.0.values().filter_map(|slot| slot.running.as_ref());
        runs.filter(|running| labels.is_none_or(|labels| running.policy.selector.matches(labels))).cloned().collect()
    }
}

impl Slot {
    fn rejecting(&self, entry: &PolicyEntry, message: String) -> Self {
        let rejected = Rejected { uid: entry.uid.clone(), generation: entry.generation, message };
        Self { rejected: Some(rejected), ..self.clone() }
    }
}

fn run(entry: &PolicyEntry, only: Option<&str>) -> Result<Running, String> {
    if let Some(only) = only.filter(|only| *only != entry.namespace) {
        let own = &entry.namespace;
        return Err(format!(
            "metadata.namespace: is {own}, but this sidecar enforces {only}; start it with --namespace {own}"
        ));
    }
    let namespace = Namespace::new(&entry.namespace).map_err(|error| format!("metadata.namespace: {error}"))?;
    let policy = weir_policy::compile(entry).map_err(|faults| faults.to_string())?;
    Ok(Running { policy: Arc::new(policy), namespace })
}
