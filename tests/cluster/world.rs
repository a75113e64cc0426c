//! The cluster under test, reached with the tools a person has: kubectl, helm, and requests from inside its network.
//!
//! | environment | what |
//! |---|---|
//! | `KUBECONFIG` | of a cluster that the tests may change at will |
//! | `WEIR_TEST_NETNS` | network namespace that holds it |
//! | `WEIR_TEST_PROGRAMS` | folder of kubectl and helm |
//! | `WEIR_TEST_IMAGES` | file of lines `name=full image name` |
use crate::wait::until;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use weir_tests::load::Report;

/// Where the chart goes.
pub(crate) const RELEASE_NAMESPACE: &str = "weir-system";

pub(crate) struct World {
    programs: PathBuf,
    netns: String,
    images: BTreeMap<String, String>,
}

/// The world while it is this test's turn.
pub(crate) struct Turn {
    world: &'static World,
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Turn {
    type Target = World;
    fn deref(&self) -> &World {
        self.world
    }
}

/// Waits for this test's turn; the first one installs the chart.
pub(crate) fn turn() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    static WORLD: OnceLock<World> = OnceLock::new();
    // A test that failed has poisoned the lock; the next one still gets its turn.
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let world = WORLD.get_or_init(|| {
        let world = World::from_environment();
        world.install();
        world
    });
    // the test before may have restarted the operator
    world.webhooks_are_reached();
    Turn { world, _turn: turn }
}

impl World {
    fn from_environment() -> World {
        let get = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run tests/all"));
        let listed = std::fs::read_to_string(get("WEIR_TEST_IMAGES")).expect("the list of images is readable");
        let images = listed.lines().filter_map(|l| l.split_once('=')).map(|(n, i)| (n.into(), i.into())).collect();
        get("KUBECONFIG");
        World { programs: get("WEIR_TEST_PROGRAMS").into(), netns: get("WEIR_TEST_NETNS"), images }
    }

    /// Full name of an image that the cluster holds.
    pub(crate) fn image(&self, name: &str) -> &str {
        self.images.get(name).unwrap_or_else(|| panic!("no image {name} among {:?}", self.images.keys()))
    }

    // === kubectl and helm ===

    /// Standard output, or what it said on the way to failing.
    pub(crate) fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        run(Command::new(self.programs.join("kubectl")).args(arguments), "")
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.try_kubectl(arguments).unwrap_or_else(|e| panic!("kubectl {}: {e}", arguments.join(" ")))
    }

    pub(crate) fn try_apply(&self, namespace: &str, yaml: &str) -> Result<String, String> {
        run(Command::new(self.programs.join("kubectl")).args(["apply", "-n", namespace, "-f", "-"]), yaml)
    }

    pub(crate) fn apply(&self, namespace: &str, yaml: &str) -> String {
        self.try_apply(namespace, yaml).unwrap_or_else(|e| panic!("kubectl apply: {e}\n{yaml}"))
    }

    /// `kubectl get … -o json`.
    pub(crate) fn get(&self, namespace: &str, what: &[&str]) -> Result<Value, String> {
        let text = self.try_kubectl(&[&["get", "-n", namespace, "-o", "json"], what].concat())?;
        serde_json::from_str(&text).map_err(|e| e.to_string())
    }

    pub(crate) fn helm(&self, arguments: &[&str]) -> Result<String, String> {
        run(Command::new(self.programs.join("helm")).args(arguments), "")
    }

    /// Installs or upgrades the release with the images under test.
    pub(crate) fn install(&self) {
        let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/weir");
        let set = format!(
            "image.operator={},image.sidecar={},image.pullPolicy=Never,redis.image={}",
            self.image("operator"),
            self.image("sidecar"),
            self.image("redis")
        );
        let arguments =
            ["upgrade", "--install", "weir", chart, "-n", RELEASE_NAMESPACE, "--create-namespace", "--set", &set];
        self.helm(&[&arguments[..], &["--wait", "--timeout", "120s"]].concat()).unwrap_or_else(|e| panic!("helm: {e}"));
        self.webhooks_are_reached();
    }

    /// Waits until the API server reaches the webhooks: some time after the operator's pods are ready. Until then what should
    /// be injected or refused is let through, since no pod may be kept from starting by a webhook that is away.
    fn webhooks_are_reached(&self) {
        let bad = "apiVersion: v1\nkind: Pod\n\
                   metadata: {name: never, annotations: {weir.dev/inject: \"true\", weir.dev/capture: sideways}}\n\
                   spec: {containers: [{name: never, image: never}]}\n";
        until("the webhooks are reached", || {
            let apply = ["apply", "--dry-run=server", "-n", "default", "-f", "-"];
            match run(Command::new(self.programs.join("kubectl")).args(apply), bad) {
                Err(refusal) if refusal.contains("weir.dev/capture") => Ok(()),
                other => Err(other),
            }
        });
    }

    // === requests from inside the cluster's network ===

    /// `weir-echo` with these arguments, on the node: it reaches pods and Services by address.
    pub(crate) fn echo(&self, arguments: &[&str]) -> Result<String, String> {
        let netns = format!("--net=/run/netns/{}", self.netns);
        run(Command::new("nsenter").arg(netns).arg(env!("CARGO_BIN_EXE_weir-echo")).args(arguments), "")
    }

    /// Opens a connection from inside the cluster's network and closes it.
    pub(crate) fn try_connect(&self, address: &str, port: u16) -> Result<(), String> {
        let netns = format!("--net=/run/netns/{}", self.netns);
        let open = format!("exec 3<>/dev/tcp/{address}/{port}");
        run(Command::new("nsenter").args([&netns, "timeout", "2", "bash", "-c", &open]), "").map(drop)
    }

    /// `weir-echo load` with these arguments.
    pub(crate) fn load(&self, arguments: &[&str]) -> Report {
        let text = self.echo(&[&["load"], arguments].concat()).unwrap_or_else(|e| panic!("weir-echo load: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("weir-echo load printed no report: {e}\n{text}"))
    }

    /// The same, going on while the test does something else.
    pub(crate) fn start_load(&self, arguments: &[&str]) -> RunningLoad {
        let child = Command::new("nsenter")
            .arg(format!("--net=/run/netns/{}", self.netns))
            .arg(env!("CARGO_BIN_EXE_weir-echo"))
            .arg("load")
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("nsenter runs");
        RunningLoad(child)
    }

    /// redis-cli in the bundled Redis.
    pub(crate) fn redis(&self, command: &[&str]) -> Result<String, String> {
        self.try_kubectl(&[&["exec", "-n", RELEASE_NAMESPACE, "weir-redis-0", "--", "redis-cli"], command].concat())
    }
}

/// A load that runs beside the test; ended with it.
pub(crate) struct RunningLoad(std::process::Child);

impl RunningLoad {
    /// Waits until all is sent.
    pub(crate) fn finish(mut self) -> Report {
        let mut text = String::new();
        if let Some(mut out) = self.0.stdout.take() {
            std::io::Read::read_to_string(&mut out, &mut text).expect("the load's report is text");
        }
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("weir-echo load printed no report: {e}\n{text}"))
    }

    /// Ends it now: it sends nothing more, waits for what is on its way and reports.
    pub(crate) fn stop(self) -> Report {
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        self.finish()
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(command: &mut Command, input: &str) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{command:?}: {e}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends without reading its input is not our failure.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(said(&output.stdout));
    }
    Err(format!("{}{}", said(&output.stdout), said(&output.stderr)))
}
