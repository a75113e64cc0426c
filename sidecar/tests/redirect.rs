//! The capture rules for real: in a network namespace of the test's own, with the application and the sidecar inside and
//! the client outside, as a pod and the rest of the cluster are. Needs root, `ip` and `nft`.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{PolicyFile, enough_of_the_hour, per_user};
use super::sidecar::{PATIENCE, Sidecar, program};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// The port that clients know.
const APP: u16 = 8080;
/// The sidecar's.
const CAPTURE: u16 = 15001;
/// Set for the copy of this test program that plays the application inside.
const PLAY: &str = "WEIR_TEST_APPLICATION";

/// A namespace with one cable to the outside, both named after this process.
struct Namespace {
    name: String,
    outside: String,
    v4: Ipv4Addr,
    v6: Ipv6Addr,
}

impl Namespace {
    fn new() -> Self {
        let pid = std::process::id();
        let (high, low) = (((pid >> 6) & 0xff) as u8, ((pid & 0x3f) << 2) as u8);
        let space = Self {
            name: format!("weir-{pid}"),
            outside: format!("weir{pid}"),
            v4: Ipv4Addr::new(198, 19, high, low + 2),
            v6: Ipv6Addr::new(0xfd5e, 0x3e12, (pid >> 16) as u16, pid as u16, 0, 0, 0, 2),
        };
        let (name, outside) = (&space.name, &space.outside);
        let v4_outside = Ipv4Addr::new(198, 19, high, low + 1);
        let v6_outside = Ipv6Addr::from(u128::from(space.v6) - 1);
        ip(&format!("netns add {name}"));
        ip(&format!("link add {outside} type veth peer name eth0 netns {name}"));
        ip(&format!("addr add {v4_outside}/30 dev {outside}"));
        ip(&format!("-6 addr add {v6_outside}/64 dev {outside} nodad"));
        ip(&format!("link set {outside} up"));
        ip(&format!("-n {name} addr add {}/30 dev eth0", space.v4));
        ip(&format!("-n {name} -6 addr add {}/64 dev eth0 nodad", space.v6));
        ip(&format!("-n {name} link set eth0 up"));
        ip(&format!("-n {name} link set lo up"));
        space
    }

    /// The same command, run inside.
    fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.name]).arg(command.get_program()).args(command.get_args());
        inside
    }

    fn redirect(&self, ports: &str) -> Output {
        let mut redirect = program();
        redirect.args(["redirect", "--ports", ports, "--to", &CAPTURE.to_string()]);
        self.inside(&redirect).output().unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
        // goes with the namespace, unless that was never made
        let _ = Command::new("ip").args(["link", "del", &self.outside]).stderr(Stdio::null()).status();
    }
}

/// A process that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip runs: install iproute2");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {said} (this test needs root)");
}

/// Not a rule but a role: inside the namespace this program is started once more, to be the application there.
#[tokio::test]
async fn the_application_inside_the_namespace() {
    if std::env::var_os(PLAY).is_some() {
        let _app = App::start_on((Ipv6Addr::UNSPECIFIED, APP).into()).await;
        std::future::pending::<()>().await;
    }
}

async fn answers(address: SocketAddr) {
    let began = Instant::now();
    loop {
        // a first packet that is lost while the cable comes up is sent again ever more seldom
        let connect = tokio::time::timeout(Duration::from_secs(1), TcpStream::connect(address)).await;
        match connect {
            Ok(Ok(_)) => return,
            other => assert!(began.elapsed() < PATIENCE, "nobody answers at {address}: {other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_comes_from_outside_passes_the_sidecar_whichever_family_it_speaks() {
    enough_of_the_hour().await;
    let space = Namespace::new();
    let (v4, v6) = (SocketAddr::from((space.v4, APP)), SocketAddr::from((space.v6, APP)));
    let mut play = Command::new(std::env::current_exe().unwrap());
    play.args(["--exact", "redirect::the_application_inside_the_namespace"]);
    let app = space.inside(&play).env(PLAY, "1").stdout(Stdio::null()).spawn().unwrap();
    let _app = Ends(app);
    answers(v4).await;
    assert_eq!(get(v4, "/", &[("x-user", "ann")]).await.header("x-ratelimit-limit"), None, "not captured yet");

    for run in ["first", "second"] {
        let output = space.redirect(&APP.to_string());
        assert!(output.status.success(), "{run}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut list = Command::new("nft");
    list.args(["list", "ruleset"]);
    let rules = String::from_utf8(space.inside(&list).output().unwrap().stdout).unwrap();
    assert_eq!(rules.matches("redirect to :15001").count(), 1, "{rules}");
    assert!(!rules.contains("output"), "what starts inside the pod is not captured: {rules}");

    let file = PolicyFile::new(&per_user(20));
    let mut run = program();
    run.args(["run", "--policy", file.flag(), "--route", "0.0.0.0:15001=original", "--captured-ports", "8080"]);
    let sidecar = Sidecar::spawn(space.inside(&run));
    assert_eq!(get(v4, "/", &[("x-user", "ann")]).await.number("x-ratelimit-remaining"), 19);
    assert_eq!(get(v6, "/", &[("x-user", "ann")]).await.number("x-ratelimit-remaining"), 18);
    // the sidecar's own port leads nowhere: its original destination is itself
    for address in [IpAddr::from(space.v4), IpAddr::from(space.v6)] {
        let direct = Connection::to((address, CAPTURE).into()).get("/", &[]).await;
        assert!(direct.is_err(), "{direct:?}");
    }
    drop(sidecar);
}

#[tokio::test]
async fn rules_that_nft_refuses_are_an_error_with_its_words() {
    let mut without_rights = Command::new("setpriv");
    without_rights.args(["--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]);
    without_rights.arg(env!("CARGO_BIN_EXE_weir-sidecar")).args(["redirect", "--ports", "8080", "--to", "15001"]);
    let output = without_rights.output().expect("setpriv runs: install util-linux");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nft refused the rules") && said.contains("NET_ADMIN"), "{said}");
}
