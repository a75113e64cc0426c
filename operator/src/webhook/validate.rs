//! `POST /validate`: a policy is refused with every fault that compiling it finds, the same code that the sidecar runs. Pure.

use weir_policy::PolicyEntry;

use super::review::{Answer, Outcome, Request};

/// Answers a review of a RateLimitPolicy.
pub(super) fn answer(request: &Request) -> (Answer, Outcome) {
    // Labels, owners and finalizers of a policy that came in while nobody checked can still be changed, or it couldn't even
    // be deleted; its condition Accepted says what is wrong.
    if request.old_object.is_object() && request.old_object["spec"] == request.object["spec"] {
        return (Answer::allow(), Outcome::Allowed);
    }
    let metadata = &request.object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    let entry = PolicyEntry {
        namespace: request.namespace.clone(),
        name: if request.name.is_empty() { text("name") } else { request.name.clone() },
        uid: text("uid"),
        generation: metadata["generation"].as_i64().unwrap_or(1),
        spec: request.object["spec"].clone(),
    };
    match weir_policy::compile(&entry) {
        Ok(policy) => {
            let warnings = policy.warnings.iter().map(ToString::to_string).collect();
            (Answer::Allow { patch: json_patch::Patch(Vec::new()), warnings }, Outcome::Allowed)
        }
        Err(faults) => {
            let causes = faults.iter().map(|fault| (fault.path.clone(), fault.message.clone())).collect();
            let message = faults.to_string();
            (Answer::Deny { code: 422, reason: "Invalid", message, causes }, Outcome::Refused)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::webhook::review::Kind;

    fn review(limits: Value, old_limits: Option<Value>) -> Value {
        let policy = |limits: Value| json!({"metadata": {"name": "api", "generation": 1}, "spec": {"limits": limits}});
        let request = Request {
            uid: "u".into(),
            namespace: "shop".into(),
            name: "api".into(),
            kind: Kind { kind: "RateLimitPolicy".into() },
            object: policy(limits),
            old_object: old_limits.map_or(Value::Null, policy),
        };
        answer(&request).0.to_review("u")["response"].clone()
    }

    fn good() -> Value {
        json!([{"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 20, "period": "1h"}}])
    }

    fn bad() -> Value {
        json!([
            {"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 20, "period": "1x"}},
            {"name": "b", "algorithm": "TokenBucket", "rate": {"requests": 20, "period": "1h"}, "burst": 0},
        ])
    }

    #[test]
    fn a_good_policy_passes() {
        assert_eq!(review(good(), None), json!({"uid": "u", "allowed": true}));
        assert_eq!(review(good(), Some(bad())), json!({"uid": "u", "allowed": true}));
    }

    #[test]
    fn every_fault_is_named_with_its_field() {
        let response = review(bad(), Some(good()));
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], 422);
        let message = response["status"]["message"].as_str().unwrap();
        let causes = response["status"]["details"]["causes"].as_array().unwrap();
        for field in ["spec.limits[0].rate.period", "spec.limits[1].burst"] {
            assert!(message.contains(field), "{message}");
            assert!(causes.iter().any(|cause| cause["field"] == field), "{causes:?}");
        }
    }

    #[test]
    fn what_may_surprise_is_told_to_whoever_applies_it() {
        let mut limits = good();
        limits[0]["keys"] = json!([{"header": {"name": "x-user"}}]);
        limits[0]["onMissingKey"] = json!("Skip");
        let response = review(limits, None);
        assert_eq!(response["allowed"], true);
        let warning = response["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("spec.limits[0].onMissingKey: Skip leaves requests"), "{warning}");
    }

    #[test]
    fn an_update_that_leaves_the_spec_alone_passes_however_bad_the_spec_is() {
        assert_eq!(review(bad(), Some(bad())), json!({"uid": "u", "allowed": true}));
    }
}
