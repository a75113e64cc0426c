//! `POST /validate`: a policy is refused with every fault that compiling it finds, the same code that the sidecar runs. Pure.

use weir_policy::PolicyEntry;

use super::review::{Answer, Outcome, Request};

/// Answers a review of a RateLimitPolicy.
pub(super) fn answer(request: &Request) -> (Answer, Outcome) {
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
        Ok(_) => (Answer::allow(), Outcome::Allowed),
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

    fn review(limits: Value) -> Value {
        let request = Request {
            uid: "u".into(),
            namespace: "shop".into(),
            name: "api".into(),
            kind: Kind { kind: "RateLimitPolicy".into() },
            object: json!({"metadata": {"name": "api", "generation": 1}, "spec": {"limits": limits}}),
        };
        answer(&request).0.to_review("u")["response"].clone()
    }

    #[test]
    fn a_good_policy_passes() {
        let limit = json!({"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 20, "period": "1h"}});
        assert_eq!(review(json!([limit])), json!({"uid": "u", "allowed": true}));
    }

    #[test]
    fn every_fault_is_named_with_its_field() {
        let period = json!({"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 20, "period": "1x"}});
        let burst =
            json!({"name": "b", "algorithm": "TokenBucket", "rate": {"requests": 20, "period": "1h"}, "burst": 0});
        let response = review(json!([period, burst]));
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], 422);
        let causes = response["status"]["details"]["causes"].as_array().unwrap();
        let fields: Vec<&str> = causes.iter().map(|cause| cause["field"].as_str().unwrap()).collect();
        assert!(fields[0].starts_with("spec.limits[0].rate.period"), "{fields:?}");
        assert!(fields[1].starts_with("spec.limits[1].burst"), "{fields:?}");
        let message = response["status"]["message"].as_str().unwrap();
        assert!(fields.iter().all(|field| message.contains(field)), "{message}");
    }
}
