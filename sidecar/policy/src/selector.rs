//! Which pods a policy is for: Kubernetes' LabelSelector, compiled.

use std::collections::BTreeMap;

/// Conditions on a pod's labels; all must hold. None: every pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    pub(crate) conditions: Vec<Condition>,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) key: String,
    pub(crate) test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

impl Selector {
    /// True when a pod with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.conditions.iter().all(|condition| {
            let value = labels.get(&condition.key);
            match &condition.test {
                Test::In(values) => value.is_some_and(|v| values.contains(v)),
                // as in Kubernetes: a pod without the label has none of the values
                Test::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
            }
        })
    }

    /// True when every pod is selected.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.conditions.is_empty()
    }
}
