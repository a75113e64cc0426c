use serde_json::{Value, json};
use weir_store::{PolicyReport, RejectedPolicy};

use super::*;

const KEY: &str = "0011aabb";

/// Everything about one policy of generation 3, from a good start.
struct Scene {
    entry: PolicyEntry,
    handed_out: Option<i64>,
    held_back: Option<HeldBack>,
    pods: Vec<Candidate>,
    reports: Reports,
    previous: Option<RateLimitPolicyStatus>,
    now: i64,
}

fn scene(pods: &[(&str, bool)]) -> Scene {
    let limit = json!({"name": "all", "algorithm": "FixedWindow", "rate": {"requests": 3, "period": "1h"}});
    let spec = json!({"selector": {"matchLabels": {"app": "web"}}, "limits": [limit]});
    let entry =
        PolicyEntry { namespace: "shop".into(), name: "api".into(), uid: "policy-uid".into(), generation: 3, spec };
    let pods = pods
        .iter()
        .map(|(name, has_sidecar)| Candidate {
            name: (*name).to_owned(),
            uid: format!("uid-{name}"),
            labels: [("app".to_owned(), "web".to_owned())].into(),
            has_sidecar: *has_sidecar,
            skipped: None,
        })
        .collect();
    Scene { entry, handed_out: Some(3), held_back: None, pods, reports: Ok(HashMap::new()), previous: None, now: 1000 }
}

impl Scene {
    fn reporting(mut self, pod: &str, policy: &str, generation: i64) -> Self {
        let mut heartbeat = Heartbeat::new(format!("uid-{pod}"), KEY, "connected");
        heartbeat.policies.push(PolicyReport { uid: policy.to_owned(), generation });
        self.reports.as_mut().unwrap().insert(format!("uid-{pod}"), heartbeat);
        self
    }

    fn status(&self) -> RateLimitPolicyStatus {
        let verdict = weir_policy::compile(&self.entry);
        let subject = Subject {
            entry: &self.entry,
            verdict: &verdict,
            handed_out: self.handed_out,
            held_back: self.held_back.as_ref(),
            pods: &self.pods,
            reports: &self.reports,
            install_key: KEY,
        };
        compute(subject, self.previous.as_ref(), Timestamp::from_second(self.now).unwrap())
    }

    /// Status, reason and message of one condition.
    fn said(&self, type_: &str) -> (String, String, String) {
        let status = self.status();
        let condition = status.conditions.iter().find(|c| c.type_ == type_).unwrap();
        (condition.status.clone(), condition.reason.clone(), condition.message.clone())
    }

    fn enforced(&self) -> (String, String, String, Option<String>) {
        let (status, reason, message) = self.said("Enforced");
        (status, reason, message, self.status().sidecars)
    }
}

fn row(said: (String, String, String, Option<String>)) -> String {
    format!("{} {} [{}] {}", said.0, said.1, said.3.as_deref().unwrap_or("-"), said.2)
}

#[test]
fn enforced_says_what_is_so() {
    let two = || scene(&[("a", true), ("b", true)]);
    let away = |scene: Scene| Scene { reports: Err("timeout".into()), ..scene };
    let rows = [
        (scene(&[]), "False NoPods [0/0] no running pod with a sidecar is selected"),
        (two(), "False Pending [0/2] 0/2: a (does not report), b (does not report)"),
        (two().reporting("a", "policy-uid", 3), "False Pending [1/2] 1/2: b (does not report)"),
        (
            two().reporting("a", "policy-uid", 3).reporting("b", "policy-uid", 2),
            "False Pending [1/2] 1/2: b (runs generation 2)",
        ),
        (two().reporting("a", "policy-uid", 3).reporting("b", "policy-uid", 3), "True Enforced [2/2] 2/2"),
        (
            two().reporting("a", "policy-uid", 3).reporting("b", "its-predecessor", 3),
            "False Pending [1/2] 1/2: b (does not run it yet)",
        ),
        (away(two()), "Unknown StoreUnreachable [?/2] ?/2: sidecars report through the store: timeout"),
        (
            scene(&[("a", true), ("b", false)]).reporting("a", "policy-uid", 3),
            "False PodsWithoutSidecar [1/2] 1/2: without a sidecar: b; a pod gets one when it is created",
        ),
        (
            away(scene(&[("a", true), ("b", false)])),
            "False PodsWithoutSidecar [?/2] ?/2: without a sidecar: b; a pod gets one when it is created",
        ),
    ];
    for (scene, expected) in rows {
        assert_eq!(row(scene.enforced()), expected);
    }
}

#[test]
fn a_pod_that_is_not_selected_does_not_count() {
    let mut scene = scene(&[("a", true), ("other", true)]).reporting("a", "policy-uid", 3);
    scene.pods[1].labels.insert("app".into(), "else".into());
    assert_eq!(row(scene.enforced()), "True Enforced [1/1] 1/1");
}

#[test]
fn a_sidecar_that_refuses_the_policy_or_counts_elsewhere_is_named_with_the_reason() {
    let mut scene = scene(&[("a", true), ("b", true)]).reporting("a", "policy-uid", 2).reporting("b", "policy-uid", 3);
    let reports = scene.reports.as_mut().unwrap();
    let rejected = RejectedPolicy { uid: "policy-uid".into(), generation: 3, message: "spec.x: unknown\nmore".into() };
    reports.get_mut("uid-a").unwrap().rejected.push(rejected);
    reports.get_mut("uid-b").unwrap().install_key = "ffffffff".into();
    let expected = "0/2: a (refuses it: spec.x: unknown), b (counts under another install key)";
    assert_eq!(scene.enforced().2, expected);
}

#[test]
fn a_message_names_a_few_pods_and_counts_the_rest() {
    let names: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
    let pods: Vec<(&str, bool)> = names.iter().map(|name| (name.as_str(), false)).collect();
    let (_, _, message, sidecars) = scene(&pods).enforced();
    assert_eq!(message, "0/30: without a sidecar: p0, p1, p2, p3, p4 and 25 more; a pod gets one when it is created");
    assert_eq!(sidecars.as_deref(), Some("0/30"));
}

#[test]
fn an_invalid_policy_lists_every_fault_and_says_what_stays_in_force() {
    let mut scene = scene(&[("a", true)]);
    let limit = |name: &str, period: &str| json!({"name": name, "algorithm": "FixedWindow", "rate": {"requests": 3, "period": period}});
    scene.entry.spec = json!({"limits": [limit("a", "1x"), limit("b", "1d")]});
    scene.handed_out = Some(2);
    let (status, reason, message) = scene.said("Accepted");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Invalid"));
    assert!(
        message.contains("spec.limits[0].rate.period") && message.contains("spec.limits[1].rate.period"),
        "{message}"
    );
    let (status, reason, message) = scene.said("Programmed");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Invalid"));
    assert_eq!(message, "generation 3 is not handed out; generation 2 stays in force");
    assert_eq!(row(scene.enforced()), "False Invalid [-] generation 3 is not handed out");
    assert_eq!(scene.status().limits, Some(2));
}

#[test]
fn programmed_means_that_the_document_holds_this_generation() {
    let rows = [
        (Some(3), None, "True", "Programmed", ""),
        (Some(2), None, "False", "Pending", "generation 2 stays in force"),
        (None, Some(HeldBack::WriteFailed("no quota".into())), "False", "WriteFailed", "no quota"),
        (Some(2), Some(HeldBack::TooLarge { bytes: 999_999, most: 921_600 }), "False", "DocumentTooLarge", "999999"),
        // what does not change is still handed out
        (Some(3), Some(HeldBack::TooLarge { bytes: 999_999, most: 921_600 }), "True", "Programmed", ""),
    ];
    for (handed_out, held_back, status, reason, words) in rows {
        let scene = Scene { handed_out, held_back, ..scene(&[]) };
        let said = scene.said("Programmed");
        assert_eq!((said.0.as_str(), said.1.as_str()), (status, reason));
        assert!(said.2.contains(words), "{}", said.2);
    }
}

#[test]
fn a_warning_stands_in_the_message_of_an_accepted_policy() {
    let mut scene = scene(&[]);
    scene.entry.spec["limits"][0]["keys"] = json!([{"header": {"name": "x-tenant"}}]);
    scene.entry.spec["limits"][0]["onMissingKey"] = Value::from("Skip");
    let (status, reason, message) = scene.said("Accepted");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Valid"));
    assert!(message.contains("spec.limits[0].onMissingKey"), "{message}");
}

#[test]
fn nothing_changed_is_the_same_status_to_the_byte() {
    let mut scene = scene(&[("a", true)]).reporting("a", "policy-uid", 3);
    let first = scene.status();
    scene.previous = Some(first.clone());
    scene.now = 5000;
    assert_eq!(scene.status(), first);
}

#[test]
fn a_transition_time_moves_only_when_the_conditions_status_does() {
    let mut scene = scene(&[("a", true)]);
    scene.previous = Some(scene.status());
    scene.now = 5000;
    scene = scene.reporting("a", "policy-uid", 3);
    let times: Vec<i64> = scene.status().conditions.iter().map(|c| c.last_transition_time.0.as_second()).collect();
    assert_eq!(times, [1000, 1000, 5000]);
}

#[test]
fn a_status_survives_the_way_through_the_api_server() {
    let status = scene(&[("a", true)]).status();
    let json = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<RateLimitPolicyStatus>(&json).unwrap(), status);
}

#[test]
fn progress_alone_is_words_and_a_reached_end_is_not() {
    let none = scene(&[("a", true), ("b", true)]).status();
    let half = scene(&[("a", true), ("b", true)]).reporting("a", "policy-uid", 3).status();
    let all = scene(&[("a", true)]).reporting("a", "policy-uid", 3).status();
    assert!(differ_in_words_only(&none, &half));
    assert!(!differ_in_words_only(&half, &all));
}

#[test]
fn a_pod_that_the_injector_left_out_is_named_with_the_reason() {
    let mut scene = scene(&[("a", false)]);
    scene.pods[0].skipped = Some("HostNetwork".into());
    assert_eq!(scene.enforced().2, "0/1: without a sidecar: a (HostNetwork); a pod gets one when it is created");
}
