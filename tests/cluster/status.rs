//! Status says what is so: on how many pods a generation is in force, and why not.
use crate::app::{App, Namespace};
use crate::wait::until;
use crate::world::turn;

const POLICY: &str = "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: told}
spec:
  limits:
  - {name: all, algorithm: FixedWindow, rate: {requests: 1000, period: 1h}}
";

#[test]
fn a_policy_without_pods_says_so() {
    let world = turn();
    let namespace = Namespace::new(&world, "nopods", "");
    namespace.apply(POLICY);
    assert_eq!(namespace.condition("told", "Accepted", "True")["reason"], "Valid");
    assert_eq!(namespace.condition("told", "Enforced", "False")["reason"], "NoPods");
}

#[test]
fn a_stopped_sidecar_is_counted_out_and_back_in() {
    let world = turn();
    let namespace = Namespace::new(&world, "stopped", "");
    let app = App { replicas: 2, ..App::default() };
    namespace.deploy(&app);
    namespace.apply(POLICY);
    namespace.condition("told", "Enforced", "True");
    let columns = namespace.kubectl(&["get", "rlp", "told"]);
    assert!(columns.contains("2/2"), "{columns}");

    // Freeze one sidecar from outside: its process, found by the container's id.
    let pod = &namespace.pods(&app)[0];
    let statuses = pod["status"]["initContainerStatuses"].as_array().expect("a sidecar is an init container");
    let sidecar = statuses.iter().find(|s| s["name"] == "weir-sidecar").expect("the pod has a sidecar");
    let id = sidecar["containerID"].as_str().expect("it runs").trim_start_matches("containerd://");
    let frozen = Frozen::container(id);
    let condition = namespace.condition("told", "Enforced", "False");
    assert!(condition["message"].as_str().is_some_and(|m| m.contains("1/2")), "{condition}");
    drop(frozen);
    namespace.condition("told", "Enforced", "True");
}

#[test]
fn status_is_not_written_when_nothing_changes() {
    let world = turn();
    let namespace = Namespace::new(&world, "quiet", "");
    namespace.deploy(&App::default());
    namespace.apply(POLICY);
    namespace.condition("told", "Enforced", "True");
    let version = || {
        let policy = namespace.get(&["rlp", "told"]);
        let document = namespace.get(&["configmap", "weir-policies"]);
        (policy["metadata"]["resourceVersion"].clone(), document["metadata"]["resourceVersion"].clone())
    };
    let before = version();
    // Ten of the heartbeats' own intervals.
    std::thread::sleep(std::time::Duration::from_secs(10));
    assert_eq!(before, version());
}

#[test]
fn a_pod_that_asked_for_a_sidecar_and_has_none_is_named() {
    let world = turn();
    let namespace = Namespace::new(&world, "missed", "");
    // hostNetwork can't be captured: skipped with the reason, and the policy's status says that a pod goes unlimited.
    let app = App { pod: "hostNetwork: true".into(), container: String::new(), ..App::default() };
    namespace.deploy(&app);
    namespace.apply(POLICY);
    let condition = namespace.condition("told", "Enforced", "False");
    assert_eq!(condition["reason"], "PodsWithoutSidecar", "{condition}");
    let told = until("the pod says why it was skipped", || {
        let pod = namespace.pods(&app).first().cloned().ok_or("no pod")?;
        pod["metadata"]["annotations"]["weir.dev/status"].as_str().map(str::to_owned).ok_or("no status")
    });
    assert!(told.starts_with("skipped; reason="), "{told}");
}

#[test]
fn a_hand_edited_document_is_put_back() {
    let world = turn();
    let namespace = Namespace::new(&world, "drift", "");
    namespace.deploy(&App::default());
    namespace.apply(POLICY);
    namespace.condition("told", "Enforced", "True");
    let document = || namespace.get(&["configmap", "weir-policies"])["data"]["v1"].clone();
    let right = document();
    namespace.kubectl(&["patch", "configmap", "weir-policies", "--type=merge", "-p", r#"{"data":{"v1":"{}"}}"#]);
    until("the document is put back", || if document() == right { Ok(()) } else { Err(document()) });
}

/// A process stopped by signal, going on when dropped.
struct Frozen(Vec<i32>);

impl Frozen {
    fn container(id: &str) -> Frozen {
        let mut pids = Vec::new();
        for entry in std::fs::read_dir("/proc").expect("/proc is there").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
            let cgroup = std::fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
            if cgroup.contains(id) {
                pids.push(pid);
            }
        }
        assert!(!pids.is_empty(), "no process of container {id}");
        signal("-STOP", &pids);
        Frozen(pids)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal("-CONT", &self.0);
    }
}

fn signal(signal: &str, pids: &[i32]) {
    let _ = std::process::Command::new("kill").arg(signal).args(pids.iter().map(i32::to_string)).status();
}
