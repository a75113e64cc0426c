//! `POST /mutate`: from a review of a pod to a patch. Pure.

use serde_json::Value;

use super::review::{Answer, Outcome};
use crate::inject::{self, Injector, NamespaceFacts};

/// Answers a review of `pod`.
pub(super) fn answer(pod: &Value, namespace: &NamespaceFacts, injector: &Injector) -> (Answer, Outcome) {
    match injector.inject(pod, namespace) {
        inject::Outcome::NotAsked => (Answer::allow(), Outcome::Allowed),
        inject::Outcome::Injected(injected) => {
            let patch = json_patch::diff(pod, &injected);
            (Answer::Allow { patch, warnings: Vec::new() }, Outcome::Injected)
        }
        inject::Outcome::Skipped { pod: marked, skips } => {
            let patch = json_patch::diff(pod, &marked);
            let warning = |skip: &inject::Skip| format!("no weir-sidecar ({}): {}", skip.reason.as_str(), skip.message);
            (Answer::Allow { patch, warnings: skips.iter().map(warning).collect() }, Outcome::Skipped)
        }
        inject::Outcome::Refused(message) => (Answer::invalid(message), Outcome::Refused),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::inject::CaptureMode;

    fn injector() -> Injector {
        Injector { sidecar_image: "weir.test/sidecar:1".into(), image_pull_policy: None, capture: CaptureMode::Auto }
    }

    fn pod(annotation: (&str, &str), spec: Value) -> Value {
        json!({"metadata": {"annotations": {annotation.0: annotation.1}}, "spec": spec})
    }

    fn one_port() -> Value {
        json!({"containers": [{"name": "app", "image": "a", "ports": [{"containerPort": 8080}]}],
               "initContainers": [{"name": "first", "image": "b"}, {"name": "second", "image": "b"}]})
    }

    #[test]
    fn the_patch_turns_the_pod_into_the_injected_one() {
        let before = pod(("weir.dev/inject", "true"), one_port());
        let facts = NamespaceFacts { name: "shop".into(), ..NamespaceFacts::default() };
        let (Answer::Allow { patch, warnings }, Outcome::Injected) = answer(&before, &facts, &injector()) else {
            panic!("not injected");
        };
        assert!(warnings.is_empty());
        let mut patched = before.clone();
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(inject::Outcome::Injected(patched), injector().inject(&before, &facts));
    }

    #[test]
    fn a_skip_warns_and_marks_the_pod() {
        let mut spec = one_port();
        spec["hostNetwork"] = json!(true);
        let (answer, outcome) =
            answer(&pod(("weir.dev/inject", "true"), spec), &NamespaceFacts::default(), &injector());
        assert_eq!(outcome, Outcome::Skipped);
        let review = answer.to_review("u");
        assert_eq!(review["response"]["allowed"], true);
        assert!(review["response"]["warnings"][0].as_str().unwrap().starts_with("no weir-sidecar (HostNetwork): "));
        assert_eq!(review["response"]["patchType"], "JSONPatch");
    }

    #[test]
    fn a_malformed_annotation_is_refused_by_name() {
        let (answer, outcome) =
            answer(&pod(("weir.dev/inject", "yes"), one_port()), &NamespaceFacts::default(), &injector());
        assert_eq!(outcome, Outcome::Refused);
        let review = answer.to_review("u");
        assert_eq!(review["response"]["allowed"], false);
        let message = review["response"]["status"]["message"].as_str().unwrap();
        assert_eq!(message, r#"annotation weir.dev/inject: "yes" is not valid; write "true" or "false""#);
    }

    #[test]
    fn who_did_not_ask_gets_no_patch() {
        let facts = NamespaceFacts { injection_enabled: true, ..NamespaceFacts::default() };
        let (answer, outcome) = answer(&pod(("weir.dev/inject", "false"), one_port()), &facts, &injector());
        assert_eq!((answer, outcome), (Answer::allow(), Outcome::Allowed));
    }
}
