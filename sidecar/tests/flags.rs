//! What a person reads who got the command line wrong.
use super::policies::{PolicyFile, per_user, policy};
use super::sidecar::program;
use std::net::TcpListener;

/// The exit code and everything it wrote.
fn outcome(args: &[&str]) -> (i32, String) {
    let output = program().args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

fn refused(args: &[&str], says: &[&str]) {
    let (code, text) = outcome(args);
    assert_eq!(code, 2, "{text}");
    for part in says {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn help_tells_a_stranger_what_it_is_and_how_to_try_it() {
    let (code, text) = outcome(&["--help"]);
    assert_eq!(code, 0);
    for part in ["reverse proxy", "run", "redirect", "drain", "--upstream 127.0.0.1:9000"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let (code, text) = outcome(&["run", "--help"]);
    assert_eq!(code, 0);
    for part in ["--policy", "WEIR_POLICY", "--route", "redis://HOST:PORT", "--admin-local", "--drain-grace"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn a_wrong_value_is_told_what_would_be_right() {
    let file = PolicyFile::new(&per_user(5));
    let ok = ["run", "--policy", file.flag(), "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1"];
    let with = |more: &[&'static str]| [&ok[..], more].concat();
    refused(&["run", "--policy", file.flag()], &["nothing to listen on"]);
    refused(
        &["run", "--policy", "/nowhere/p.yaml", "--listen", "127.0.0.1:0", "--upstream", "a:1"],
        &["--policy /nowhere/p.yaml", "name a file"],
    );
    refused(&with(&["--route", "8080"]), &["LISTEN=UPSTREAM"]);
    refused(&with(&["--store", "postgres://a"]), &["--store", "redis://"]);
    refused(&with(&["--namespace", "No_Such"]), &["--namespace", "lower-case"]);
    refused(&with(&["--probes", "[{}]"]), &["probes", "container"]);
    refused(&with(&["--log-level", "loud"]), &["error, warn, info"]);
}

#[test]
fn a_taken_port_is_named_with_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let (file, address) = (PolicyFile::new(&per_user(5)), taken.local_addr().unwrap().to_string());
    refused(
        &["run", "--policy", file.flag(), "--listen", &address, "--upstream", "127.0.0.1:1"],
        &[&address, "another program has it"],
    );
}

#[test]
fn a_local_file_with_faults_is_refused_at_the_start_with_all_of_them() {
    let file = PolicyFile::new(&policy(
        "api",
        "  limits:\n  - {name: a, algorithm: FixedWindow, rate: {requests: -1, period: 1x}}\n  - {name: b, algorithm: TokenBucket, rate: {requests: 1, period: 1s}, burst: 0}\n",
    ));
    refused(
        &["run", "--policy", file.flag(), "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1"],
        &["shop/api", "spec.limits[0].rate.requests", "spec.limits[0].rate.period", "spec.limits[1].burst"],
    );
}

#[test]
fn draining_where_no_sidecar_is_says_which_address_was_asked() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (code, text) = outcome(&["drain", "--admin-local", &free]);
    assert_eq!(code, 1);
    assert!(text.contains(&free) && text.contains("--admin-local"), "{text}");
}

#[test]
fn a_redirect_without_the_right_to_do_it_says_what_is_missing() {
    let (code, text) = outcome(&["redirect", "--ports", "15001", "--to", "15001"]);
    assert_eq!(code, 1);
    assert!(text.contains("--ports names 15001"), "{text}");
    let (code, text) = outcome(&["redirect", "--ports", "8080,9000", "--to", "15001", "--print"]);
    assert_eq!(code, 0);
    assert!(text.contains("tcp dport { 8080, 9000 } redirect to :15001"), "{text}");
}
