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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn matches(selector: Value, labels: &[(&str, &str)]) -> bool {
        let limit = json!({"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1s"}});
        let spec = json!({"selector": selector, "limits": [limit]});
        let entry =
            crate::PolicyEntry { namespace: "n".into(), name: "p".into(), uid: String::new(), generation: 1, spec };
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        crate::compile(&entry).unwrap().selector.matches(&labels)
    }

    #[test]
    fn an_empty_selector_selects_every_pod() {
        assert!(matches(json!({}), &[]) && matches(json!({"matchLabels": {}}), &[("a", "b")]));
    }

    #[test]
    fn all_conditions_must_hold_as_kubernetes_has_them() {
        let one = |operator: &str, values: Value| {
            let mut requirement = json!({"key": "tier", "operator": operator});
            if values != json!([]) {
                requirement["values"] = values;
            }
            json!({"matchExpressions": [requirement]})
        };
        let (web, db, none) = ([("tier", "web")], [("tier", "db")], [("app", "x")]);
        for (selector, expected) in [
            (json!({"matchLabels": {"tier": "web"}}), [true, false, false]),
            (one("In", json!(["web", "api"])), [true, false, false]),
            (one("NotIn", json!(["web"])), [false, true, true]),
            (one("Exists", json!([])), [true, true, false]),
            (one("DoesNotExist", json!([])), [false, false, true]),
        ] {
            let found = [&web, &db, &none].map(|labels| matches(selector.clone(), labels));
            assert_eq!(found, expected, "{selector}");
        }
        let both = json!({"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]});
        assert!(matches(both.clone(), &[("app", "x"), ("tier", "web")]) && !matches(both, &web));
    }
}
