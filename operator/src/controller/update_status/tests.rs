use serde_json::Value;
use weir_policy::PolicyEntry;

use super::*;
use crate::controller::facts::PolicyFacts;
use crate::controller::validate::validate;
use crate::status::{Candidate, Reports};
use std::sync::Arc;

struct Scene {
    facts: PolicyFacts,
    pods: Vec<Candidate>,
    reports: Reports,
    memory: Memory,
    start: Instant,
}

fn scene() -> Scene {
    let limit = json!({"name": "all", "algorithm": "FixedWindow", "rate": {"requests": 3, "period": "1h"}});
    let entry = PolicyEntry {
        namespace: "shop".into(),
        name: "api".into(),
        uid: "uid".into(),
        generation: 1,
        spec: json!({"limits": [limit]}),
    };
    Scene {
        facts: PolicyFacts { entry, status: None, version: version(10) },
        pods: Vec::new(),
        reports: Ok([].into()),
        memory: Memory::default(),
        start: clock::instant(),
    }
}

fn version(number: u32) -> crate::controller::facts::Version {
    let object: DynamicObject =
        serde_json::from_value(json!({"metadata": {"resourceVersion": number.to_string()}})).unwrap();
    crate::controller::facts::Version::of(&object)
}

impl Scene {
    fn pods(&mut self, count: usize, reporting: usize) {
        let pod = |i| Candidate {
            name: format!("p{i}"),
            uid: format!("p{i}"),
            labels: [].into(),
            has_sidecar: true,
            skipped: None,
        };
        self.pods = (0..count).map(pod).collect();
        let report = |i| {
            let mut heartbeat = weir_store::Heartbeat::new(format!("p{i}"), "key", "connected");
            heartbeat.policies.push(weir_store::PolicyReport { uid: "uid".into(), generation: 1 });
            (format!("p{i}"), heartbeat)
        };
        self.reports = Ok((0..reporting).map(report).collect());
    }

    fn change(&mut self, seconds: f64) -> Change {
        let checked = validate(&[Arc::new(self.facts.clone())], &mut self.memory).remove(0);
        let subject = Subject {
            entry: &self.facts.entry,
            verdict: &checked.verdict,
            handed_out: Some(1),
            held_back: None,
            pods: &self.pods,
            reports: &self.reports,
            install_key: "key",
        };
        let time = Timestamp::from_second(1_000_000 + seconds as i64).unwrap();
        change(&checked, subject, &self.memory, self.start + Duration::from_secs_f64(seconds), time)
    }

    /// The status to write, which is then written, the policy being of version `after` with it.
    fn write(&mut self, seconds: f64, after: u32) -> RateLimitPolicyStatus {
        let Change::Write(status) = self.change(seconds) else { panic!("nothing to write") };
        let at = self.start + Duration::from_secs_f64(seconds);
        let written = WrittenStatus { status: status.clone(), version: version(after), at };
        self.memory.statuses.insert("uid".into(), written);
        status
    }
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let mut scene = scene();
    scene.pods(2, 2);
    let status = scene.write(0.0, 11);
    assert!(matches!(scene.change(1.0), Change::None), "before the watch shows it");
    scene.facts.status = Some(status);
    scene.facts.version = version(11);
    assert!(matches!(scene.change(3600.0), Change::None), "and after");
    scene.memory = Memory::default();
    assert!(matches!(scene.change(7200.0), Change::None), "nor does a new leader write");
}

#[test]
fn a_status_that_somebody_else_wrote_is_put_right() {
    let mut scene = scene();
    let status = scene.write(0.0, 11);
    scene.facts.status = Some(RateLimitPolicyStatus { limits: Some(99), ..status.clone() });
    scene.facts.version = version(12);
    let Change::Write(again) = scene.change(5.0) else { panic!("nothing to write") };
    assert_eq!(again, status);
}

#[test]
fn progress_is_written_once_a_second_and_the_end_of_it_at_once() {
    let mut scene = scene();
    scene.pods(3, 0);
    scene.write(0.0, 11);
    scene.pods(3, 1);
    assert!(matches!(scene.change(0.4), Change::Later(pause) if pause == Duration::from_millis(600)));
    scene.pods(3, 3);
    assert!(matches!(scene.change(0.5), Change::Write(_)));
    scene.pods(3, 1);
    assert!(matches!(scene.change(1.0), Change::Write(_)));
}

#[test]
fn the_object_that_is_applied_holds_the_status_and_the_uid_and_no_spec() {
    let mut scene = scene();
    let status = scene.write(0.0, 11);
    let checked = validate(&[Arc::new(scene.facts.clone())], &mut scene.memory).remove(0);
    let object = object(&checked, &status);
    assert_eq!(object["apiVersion"], "weir.dev/v1alpha1");
    assert_eq!(object["kind"], "RateLimitPolicy");
    assert_eq!(object["metadata"], json!({"name": "api", "namespace": "shop", "uid": "uid"}));
    assert_eq!(object.get("spec"), None::<&Value>);
}

#[test]
fn a_status_that_was_refused_is_left_alone_for_a_while() {
    let mut scene = scene();
    scene.memory.statuses_refused.insert("uid".into(), Pause::after(None, scene.start));
    assert!(matches!(scene.change(0.1), Change::Later(pause) if pause == Duration::from_millis(400)));
    assert!(matches!(scene.change(0.5), Change::Write(_)));
}
