//! Golden pairs for the injector: `testdata/NAME.yaml` opens with the rule that it shows, holds the settings in its first
//! document and the pod in its second; `testdata/NAME.injected.yaml` is the pod as it will run, or why it won't be injected.
//! `WEIR_WRITE=1 cargo test -p weir-operator --test inject` writes the second of each pair anew.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a fixture that can't be read is a failed test")]

mod chart;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use weir_operator::inject::{CaptureMode, Injector, NamespaceFacts, Outcome};

/// First document of a fixture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Labels of the namespace `shop`.
    #[serde(default)]
    namespace: BTreeMap<String, String>,
    /// The operator's `--capture`.
    #[serde(default)]
    capture: Option<String>,
}

struct Fixture {
    name: String,
    injector: Injector,
    namespace: NamespaceFacts,
    pod: Value,
    golden: PathBuf,
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inject/testdata");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.to_string_lossy().ends_with(".injected.yaml"));
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| fixture(path)).collect()
}

fn fixture(path: &Path) -> Fixture {
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("# "), "{name}: the first line says which rule this is");
    let documents: Vec<Value> =
        serde_yaml::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap()).collect();
    let [settings, pod] = documents.try_into().unwrap_or_else(|_| panic!("{name}: settings, then a pod"));
    let settings: Settings = serde_json::from_value(settings).unwrap();
    Fixture {
        injector: Injector {
            sidecar_image: "weir.test/sidecar:1".into(),
            image_pull_policy: Some("IfNotPresent".into()),
            capture: settings.capture.map_or(CaptureMode::Auto, |mode| CaptureMode::parse(&mode).unwrap()),
        },
        namespace: NamespaceFacts::from_labels("shop", &settings.namespace),
        pod,
        golden: path.with_file_name(format!("{name}.injected.yaml")),
        name,
    }
}

impl Fixture {
    fn inject(&self, pod: &Value) -> Outcome {
        self.injector.inject(pod, &self.namespace)
    }

    fn is(&self) -> String {
        match self.inject(&self.pod) {
            Outcome::NotAsked => "# not asked: no patch\n".into(),
            Outcome::Refused(message) => format!("# refused: {message}\n"),
            Outcome::Injected(pod) => serde_yaml::to_string(&pod).unwrap(),
            Outcome::Skipped { pod, skips } => {
                let line =
                    |skip: &weir_operator::inject::Skip| format!("# {}: {}\n", skip.reason.as_str(), skip.message);
                skips.iter().map(line).collect::<String>() + &serde_yaml::to_string(&pod).unwrap()
            }
        }
    }
}

#[test]
fn every_fixture_becomes_its_golden_twin() {
    let mut wrong = Vec::new();
    for fixture in fixtures() {
        let is = fixture.is();
        if std::env::var_os("WEIR_WRITE").is_some() {
            std::fs::write(&fixture.golden, &is).unwrap();
        }
        let golden = std::fs::read_to_string(&fixture.golden).unwrap_or_default();
        if is != golden {
            wrong.push(format!("{}: expected\n{golden}\nbut it is\n{is}", fixture.name));
        }
    }
    assert!(wrong.is_empty(), "{}\nif this is right: WEIR_WRITE=1 and look at the diff", wrong.join("\n"));
}

#[test]
fn no_golden_twin_is_left_without_its_fixture() {
    let expected: Vec<PathBuf> = fixtures().into_iter().map(|fixture| fixture.golden).collect();
    let folder = expected[0].parent().unwrap();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let golden = path.to_string_lossy().ends_with(".injected.yaml");
        assert!(!golden || expected.contains(&path), "{} has no fixture", path.display());
    }
}

#[test]
fn the_patch_of_every_fixture_leads_to_its_twin() {
    for fixture in fixtures() {
        let (Outcome::Injected(pod) | Outcome::Skipped { pod, .. }) = fixture.inject(&fixture.pod) else { continue };
        let mut patched = fixture.pod.clone();
        json_patch::patch(&mut patched, &json_patch::diff(&fixture.pod, &pod)).unwrap();
        assert_eq!(patched, pod, "{}", fixture.name);
    }
}

#[test]
fn injecting_twice_is_injecting_once() {
    for fixture in fixtures() {
        let once = fixture.inject(&fixture.pod);
        let (Outcome::Injected(pod) | Outcome::Skipped { pod, .. }) = &once else { continue };
        assert_eq!(fixture.inject(pod), once, "{}", fixture.name);
    }
}

#[test]
fn what_a_later_webhook_adds_is_injected_as_if_it_had_been_there() {
    let late = json!({"name": "late", "image": "weir.test/late:1", "ports": [{"name": "late", "containerPort": 7777}],
                      "readinessProbe": {"tcpSocket": {"port": "late"}, "timeoutSeconds": 2}});
    let with_late = |pod: &Value| {
        let mut pod = pod.clone();
        pod["spec"]["containers"].as_array_mut().unwrap().push(late.clone());
        pod["metadata"]["labels"]["late"] = json!("true");
        pod
    };
    for fixture in fixtures() {
        let (Outcome::Injected(pod) | Outcome::Skipped { pod, .. }) = fixture.inject(&fixture.pod) else { continue };
        let in_between = fixture.inject(&with_late(&pod));
        assert_eq!(in_between, fixture.inject(&with_late(&fixture.pod)), "{}", fixture.name);
    }
}

#[test]
fn our_containers_come_first_and_redirect_before_the_sidecar() {
    for fixture in fixtures() {
        let Outcome::Injected(pod) = fixture.inject(&fixture.pod) else { continue };
        let names: Vec<&str> =
            pod["spec"]["initContainers"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        let redirect = pod["metadata"]["annotations"]["weir.dev/status"].as_str().unwrap().contains("capture=redirect");
        let ours: &[&str] = if redirect { &["weir-redirect", "weir-sidecar"] } else { &["weir-sidecar"] };
        assert!(names.starts_with(ours), "{}: {names:?}", fixture.name);
        let written = fixture.pod["spec"]["initContainers"].as_array().into_iter().flatten();
        let theirs: Vec<&str> = written
            .map(|container| container["name"].as_str().unwrap())
            .filter(|name| !["weir-redirect", "weir-sidecar"].contains(name))
            .collect();
        assert_eq!(names[ours.len()..], theirs, "{}", fixture.name);
    }
}
