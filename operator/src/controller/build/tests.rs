use serde_json::{Value, json};
use weir_policy::PolicyEntry;
use weir_store::{Heartbeat, PolicyReport};

use super::*;
use crate::controller::facts::{DocumentFacts, NamespaceState, PolicyFacts, Version};
use crate::controller::pause::Pause;
use crate::controller::validate::validate;
use crate::status::Candidate;
use crate::store_secret;

/// A namespace, its leader's memory, and a clock.
struct Scene {
    observed: Observed,
    memory: Memory,
    secret: Arc<StoreSecret>,
    start: Instant,
}

fn policy(name: &str, generation: i64) -> Arc<PolicyFacts> {
    let limit = json!({"name": "all", "algorithm": "FixedWindow", "rate": {"requests": generation, "period": "1h"}});
    let entry = PolicyEntry {
        namespace: "shop".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        generation,
        spec: json!({"limits": [limit]}),
    };
    Arc::new(PolicyFacts { entry, status: None, version: Version::default() })
}

fn pod(name: &str, sidecar: Sidecar, skipped: Option<&str>) -> Arc<PodFacts> {
    Arc::new(PodFacts {
        name: name.into(),
        uid: format!("uid-{name}"),
        labels: [].into(),
        terminating: false,
        sidecar,
        wish: None,
        skipped: skipped.map(str::to_owned),
        owner: None,
    })
}

fn shown(json: &str, version: &str, ours: bool) -> Option<Arc<DocumentFacts>> {
    let labels = ours.then(|| json!({"app.kubernetes.io/managed-by": "weir-operator"}));
    let map = json!({"metadata": {"name": "weir-policies", "uid": "map", "resourceVersion": version, "labels": labels},
        "data": {"v1": json}});
    Some(Arc::new(DocumentFacts::read(&serde_json::from_value(map).unwrap())))
}

fn version(text: &str) -> Version {
    shown("", text, true).unwrap().version
}

fn secret(password: &str) -> Arc<StoreSecret> {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let source = store_secret::Source {
        url: "redis://redis:6379/0".into(),
        password_file: Some(file("password", password)),
        ca_file: None,
        install_key_file: file("key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
    };
    Arc::new(source.read().unwrap())
}

fn scene() -> Scene {
    let observed = Observed {
        namespace: "shop".into(),
        state: NamespaceState { uid: "ns".into(), terminating: false, injection_enabled: false },
        policies: vec![policy("api", 1)],
        pods: Vec::new(),
        document: None,
        candidates: Vec::new(),
        reports: Some(Ok([].into())),
    };
    Scene { observed, memory: Memory::default(), secret: secret("one"), start: Instant::now() }
}

impl Scene {
    fn build(&mut self, seconds: f64) -> Prepared {
        let checked = validate(&self.observed.policies, &mut self.memory);
        let now = self.start + Duration::from_secs_f64(seconds);
        let around = Surroundings {
            secret: &self.secret,
            reporter: &Reporter { instance: "operator-1".into() },
            budget: &mut Budget::new(50, now),
            now,
            time: Timestamp::UNIX_EPOCH,
        };
        build(&self.observed, &checked, &mut self.memory, around)
    }

    /// As if all that is prepared had been sent, the ConfigMap now being of this version.
    fn sent(&mut self, prepared: &Prepared, seconds: f64, version_now: &str) {
        let at = self.start + Duration::from_secs_f64(seconds);
        if let Some(secret) = &prepared.secret {
            self.memory.secret = Some((secret.clone(), at));
        }
        if let Some(built) = &prepared.config_map {
            self.memory.good = Some(built.document.clone().into());
            let json = built.json.clone();
            self.memory.config_map = Some(WrittenMap { json, version: version(version_now), at, shown: false });
        }
        self.memory.told.extend(prepared.events.iter().filter_map(|event| event.metadata.name.clone()));
    }

    /// Builds, sends, and lets the watch show it.
    fn settled(&mut self) -> String {
        let prepared = self.build(0.0);
        self.sent(&prepared, 0.0, "10");
        let json = prepared.config_map.unwrap().json.clone();
        self.observed.document = shown(&json, "10", true);
        json
    }

    fn candidate(&mut self, name: &str, reports: Option<&[(&str, i64)]>) {
        self.observed.pods.push(pod(name, Sidecar::Started, None));
        let uid = format!("uid-{name}");
        self.observed.candidates.push(Candidate {
            name: name.into(),
            uid: uid.clone(),
            labels: [].into(),
            has_sidecar: true,
            skipped: None,
        });
        if let (Some(policies), Some(Ok(all))) = (reports, &mut self.observed.reports) {
            let mut heartbeat = Heartbeat::new(uid.clone(), "key", "connected");
            let one =
                |(uid, generation): &(&str, i64)| PolicyReport { uid: (*uid).to_owned(), generation: *generation };
            heartbeat.policies = policies.iter().map(one).collect();
            all.insert(uid, heartbeat);
        }
    }
}

fn writes(prepared: &Prepared) -> (bool, bool) {
    (prepared.config_map.is_some(), prepared.secret.is_some())
}

#[test]
fn the_first_policy_of_a_namespace_brings_document_and_secret_before_the_first_pod() {
    assert_eq!(writes(&scene().build(0.0)), (true, true));
}

#[test]
fn what_stands_there_is_not_written_again() {
    let mut scene = scene();
    let prepared = scene.build(0.0);
    scene.sent(&prepared, 0.0, "10");
    assert_eq!(writes(&scene.build(0.1)), (false, false), "not shown yet, and trusted");
    scene.observed.document = shown(&prepared.config_map.unwrap().json, "10", true);
    assert_eq!(writes(&scene.build(100.0)), (false, false));
}

#[test]
fn a_new_leader_writes_no_document_that_already_stands() {
    let json = scene().settled();
    let mut scene = scene();
    scene.observed.document = shown(&json, "10", true);
    assert!(scene.build(0.0).config_map.is_none());
}

#[test]
fn a_document_that_was_changed_by_hand_is_put_back_with_one_event() {
    let mut scene = scene();
    let json = scene.settled();
    scene.observed.document = shown("{}", "11", true);
    let prepared = scene.build(1.0);
    assert_eq!(prepared.config_map.as_ref().unwrap().json, json);
    assert_eq!(prepared.events.len(), 1);
    scene.sent(&prepared, 1.0, "12");
    assert_eq!(writes(&scene.build(1.1)), (false, false), "the old version may be shown for a moment longer");
    scene.observed.document = shown("{}", "13", true);
    let prepared = scene.build(2.0);
    assert!(prepared.config_map.is_some() && prepared.events.is_empty());
}

#[test]
fn a_deleted_document_is_made_again() {
    let mut scene = scene();
    scene.settled();
    assert!(scene.build(0.5).config_map.is_none());
    scene.observed.document = None;
    assert!(scene.build(1.0).config_map.is_some());
}

#[test]
fn a_write_that_no_watch_shows_is_looked_at_again_and_repeated() {
    let mut scene = scene();
    let prepared = scene.build(0.0);
    scene.sent(&prepared, 0.0, "10");
    assert!(scene.build(1.0).next.is_some_and(|next| next <= TRUST));
    assert!(scene.build(2.5).config_map.is_some());
}

#[test]
fn the_last_policys_end_is_an_empty_list_and_not_an_end_of_the_document() {
    let mut scene = scene();
    scene.settled();
    scene.observed.policies.clear();
    scene.candidate("web", Some(&[("uid-api", 1)]));
    let prepared = scene.build(1.0);
    let document = PolicyDocument::from_json(&prepared.config_map.unwrap().json).unwrap();
    assert_eq!(document, PolicyDocument::default());
    assert!(!prepared.remove);
    assert_eq!(prepared.nudges.len(), 1, "the pod still reports the policy");
}

#[test]
fn changed_credentials_are_written_again() {
    let mut scene = scene();
    scene.settled();
    scene.secret = secret("two");
    assert_eq!(writes(&scene.build(1.0)), (false, true));
}

#[test]
fn what_no_pod_needs_is_emptied_at_once_left_for_a_while_and_then_removed() {
    let mut scene = scene();
    scene.settled();
    scene.observed.policies.clear();
    let prepared = scene.build(0.5);
    let json = prepared.config_map.as_ref().unwrap().json.clone();
    assert_eq!(PolicyDocument::from_json(&json).unwrap(), PolicyDocument::default(), "the next pod is not to find it");
    scene.sent(&prepared, 0.5, "11");
    scene.observed.document = shown(&json, "11", true);
    let prepared = scene.build(1.0);
    assert!(!prepared.remove && prepared.next.is_some());
    assert!(!scene.build(500.0).remove);
    assert!(scene.build(601.0).remove);
}

#[test]
fn a_config_map_that_no_operator_wrote_is_never_removed() {
    let mut scene = scene();
    scene.observed.policies.clear();
    scene.observed.document = shown("theirs", "5", false);
    scene.build(0.0);
    assert!(!scene.build(10_000.0).remove);
}

#[test]
fn a_namespace_that_is_going_is_left_alone() {
    let mut scene = scene();
    scene.observed.state.terminating = true;
    assert_eq!(writes(&scene.build(0.0)), (false, false));
}

#[test]
fn a_sidecar_that_lags_is_nudged_by_name_and_one_that_reports_is_not() {
    let mut scene = scene();
    scene.candidate("old", Some(&[]));
    scene.candidate("right", Some(&[("uid-api", 1)]));
    let prepared = scene.build(0.0);
    let pods: Vec<&str> = prepared.nudges.iter().map(|(pod, _)| pod.as_str()).collect();
    assert_eq!(pods, ["old"]);
    assert!(prepared.next.is_some_and(|next| next <= Duration::from_millis(100)), "{:?}", prepared.next);
}

#[test]
fn a_store_that_falls_silent_nudges_nobody_who_was_up_to_date() {
    let mut scene = scene();
    scene.candidate("web", Some(&[("uid-api", 1)]));
    scene.settled();
    assert!(scene.build(1.0).nudges.is_empty());
    scene.observed.reports = None;
    assert!(scene.build(2.0).nudges.is_empty());
    scene.observed.reports = Some(Err("timeout".into()));
    assert!(scene.build(3.0).nudges.is_empty());
    scene.observed.policies = vec![policy("api", 2)];
    assert_eq!(scene.build(4.0).nudges.len(), 1, "a new document is brought to it all the same");
}

#[test]
fn a_skipped_pod_is_told_of_once() {
    let mut scene = scene();
    scene.observed.pods.push(pod("web", Sidecar::Absent, Some("NoPorts")));
    let prepared = scene.build(0.0);
    assert_eq!(prepared.events.len(), 1);
    scene.sent(&prepared, 0.0, "10");
    assert!(scene.build(1.0).events.is_empty());
}

#[test]
fn an_idle_namespace_is_looked_at_rarely() {
    let mut scene = scene();
    scene.settled();
    scene.build(0.1);
    assert_eq!(scene.build(1.0).next, Some(REWRITE_SECRET));
}

#[test]
fn a_policy_that_fails_keeps_its_version_of_before_this_term() {
    let json = scene().settled();
    let mut scene = scene();
    scene.observed.document = shown(&json, "10", true);
    let mut bad = (*policy("api", 2)).clone();
    bad.entry.spec = Value::from("nonsense");
    scene.observed.policies = vec![Arc::new(bad)];
    let prepared = scene.build(0.0);
    assert!(prepared.config_map.is_none(), "the document stays as it is");
    let (built, handed_out) = prepared.document.unwrap();
    assert_eq!((built.document.policies[0].generation, handed_out[0].generation), (1, 1));
}

#[test]
fn a_document_that_was_refused_is_left_alone_for_a_while_and_never_said_to_stand() {
    let mut scene = scene();
    scene.candidate("web", Some(&[]));
    let refused = scene.build(0.0).config_map.unwrap();
    scene.memory.config_map_refused = Some((refused, "no room".into(), Pause::after(None, scene.start)));
    for tenth in 1..5 {
        let prepared = scene.build(f64::from(tenth) / 10.0);
        assert_eq!((prepared.config_map, prepared.refused.as_deref()), (None, Some("no room")));
    }
    let prepared = scene.build(0.6);
    assert!(prepared.config_map.is_some() && prepared.refused.is_none());
    scene.observed.policies = vec![policy("api", 2)];
    assert!(scene.build(0.2).config_map.is_some(), "another one is tried at once");
}

#[test]
fn a_secret_that_was_refused_is_left_alone_for_a_while() {
    let mut scene = scene();
    scene.memory.secret_refused = Some((scene.secret.clone(), Pause::after(None, scene.start)));
    assert_eq!(writes(&scene.build(0.1)), (true, false));
    assert_eq!(writes(&scene.build(0.6)), (true, true));
    scene.secret = secret("two");
    assert_eq!(writes(&scene.build(0.2)), (true, true), "another one is tried at once");
}

#[test]
fn a_secret_that_may_have_been_deleted_is_written_again_soon() {
    let mut scene = scene();
    scene.candidate("web", None);
    scene.settled();
    scene.build(1.0);
    assert_eq!(writes(&scene.build(29.0)), (false, false));
    assert_eq!(writes(&scene.build(31.0)), (false, true));
}

#[test]
fn a_thousand_pods_that_wait_for_their_nudge_are_not_looked_at_for_each_of_them() {
    let mut scene = scene();
    for pod in 0..1000 {
        scene.candidate(&format!("p{pod}"), Some(&[]));
    }
    let prepared = scene.build(0.0);
    assert_eq!(prepared.nudges.len(), 50);
    assert!(prepared.next.is_some_and(|next| next >= Duration::from_millis(100)), "{:?}", prepared.next);
}

#[test]
fn events_that_were_refused_are_left_alone_for_a_while() {
    let mut scene = scene();
    scene.observed.pods.push(pod("web", Sidecar::Absent, Some("NoPorts")));
    scene.memory.events_refused = Some(Pause::after(None, scene.start));
    assert!(scene.build(0.1).events.is_empty());
    assert_eq!(scene.build(0.6).events.len(), 1);
}
