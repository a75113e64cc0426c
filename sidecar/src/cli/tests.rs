//! The command line as its users write it.
use super::listen::{Destination, Route};
use super::*;
use clap::CommandFactory;

fn parse(args: &[&str]) -> Result<Cli, String> {
    Cli::try_parse_from(std::iter::once("weir-sidecar").chain(args.iter().copied())).map_err(|error| error.to_string())
}

fn run(args: &[&str]) -> RunFlags {
    match parse(&[&["run", "--policy", "p.yaml"], args].concat()).map(|cli| cli.command) {
        Ok(Command::Run(flags)) => *flags,
        other => panic!("{other:?}"),
    }
}

/// The message for a wrong value must hold each of these.
fn refused(args: &[&str], says: &[&str]) {
    let message = match parse(args) {
        Err(message) => message,
        Ok(cli) => match cli.command {
            Command::Run(flags) => flags.all_routes().unwrap_err(),
            other => panic!("{other:?}"),
        },
    };
    for text in says {
        assert!(message.contains(text), "no `{text}` in: {message}");
    }
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_flag_is_also_a_variable_named_after_it() {
    for command in Cli::command().get_subcommands() {
        for flag in command.get_arguments().filter(|flag| flag.get_id() != "help") {
            let name = flag.get_long().unwrap().replace('-', "_").to_uppercase();
            let variable = flag.get_env().unwrap_or_else(|| panic!("--{name} has none")).to_str().unwrap();
            assert_eq!(variable, format!("WEIR_{name}"));
        }
    }
}

#[test]
fn help_shows_no_password() {
    let command = Cli::command();
    let run = command.find_subcommand("run").unwrap();
    // a URL may hold one, and help shows what variables are set to
    let store = run.get_arguments().find(|flag| flag.get_id() == "store").unwrap();
    assert!(store.is_hide_env_values_set());
}

#[test]
fn a_bound_of_no_time_is_refused() {
    for flag in ["--head-time", "--idle-time", "--connect-time"] {
        refused(&["run", "--policy", "p.yaml", flag, "0s"], &[flag, "at least 1ms"]);
    }
}

#[test]
fn listen_and_upstream_are_the_first_route() {
    let routes = run(&[
        "--listen",
        "127.0.0.1:8080",
        "--upstream",
        "app:9000",
        "--route",
        "[::1]:81=original",
        "--captured-ports",
        "9000",
    ]);
    let fixed = Destination::Fixed { host: "app".into(), port: 9000 };
    assert_eq!(
        routes.all_routes().unwrap(),
        [
            Route { listen: "127.0.0.1:8080".parse().unwrap(), destination: fixed },
            Route { listen: "[::1]:81".parse().unwrap(), destination: Destination::Original }
        ]
    );
}

#[test]
fn an_ipv6_upstream_may_stand_without_brackets() {
    let expected = Destination::Fixed { host: "fd00::1".into(), port: 8080 };
    assert_eq!(listen::destination("fd00::1:8080"), Ok(expected.clone()));
    assert_eq!(listen::destination("[fd00::1]:8080"), Ok(expected.clone()));
    assert_eq!(expected.to_string(), "[fd00::1]:8080");
}

#[test]
fn the_injectors_redirect_command_line_is_read() {
    let flags = run(&[
        "--admin",
        "0.0.0.0:15020",
        "--admin-local",
        "127.0.0.1:15021",
        "--namespace",
        "shop",
        "--store-secret",
        "/etc/weir/store",
        "--labels-file",
        "/etc/weir/policy/labels",
        "--route",
        "0.0.0.0:15001=original",
        "--captured-ports",
        "8080,9000",
        "--tls-ports",
        "8443",
    ]);
    assert_eq!(flags.captured_ports, [8080, 9000]);
    assert_eq!(flags.tls_ports, [8443]);
    assert!(flags.all_routes().is_ok());
}

#[test]
fn the_injectors_init_container_and_pre_stop_hook_are_read() {
    let Command::Redirect(flags) = parse(&["redirect", "--ports", "8080,9000", "--to", "15001"]).unwrap().command
    else {
        panic!("not a redirect")
    };
    assert_eq!((flags.ports, flags.to), (vec![8080, 9000], 15001));
    let Command::Drain(flags) = parse(&["drain"]).unwrap().command else { panic!("not a drain") };
    assert_eq!(flags.admin_local, ADMIN_LOCAL.parse().unwrap());
}

#[test]
fn a_wrong_value_is_told_what_would_be_right() {
    let run = ["run", "--policy", "p.yaml"];
    let with = |rest: &[&'static str]| [&run[..], rest].concat();
    refused(&with(&[]), &["nothing to listen on", "--listen IP:PORT with --upstream HOST:PORT"]);
    refused(&with(&["--listen", "127.0.0.1:1"]), &["--upstream"]);
    refused(&with(&["--listen", "8080", "--upstream", "a:1"]), &["127.0.0.1:8080"]);
    refused(&with(&["--listen", "localhost:80", "--upstream", "a:1"]), &["numeric, as 127.0.0.1:80"]);
    refused(&with(&["--listen", "127.0.0.1:1", "--upstream", "http://a:1"]), &["is a URL", "HOST:PORT"]);
    refused(&with(&["--route", "0.0.0.0:8080"]), &["LISTEN=UPSTREAM", "0.0.0.0:15001=original"]);
    refused(&with(&["--route", "0.0.0.0:80=app"]), &["has no port", "127.0.0.1:9000"]);
    refused(&with(&["--route", "0.0.0.0:80=a:1", "--route", "0.0.0.0:80=b:1"]), &["0.0.0.0:80 is given twice"]);
    refused(&with(&["--route", "0.0.0.0:15001=original"]), &["--captured-ports 8080,9000"]);
    refused(&with(&["--admin-local", "0.0.0.0:15021"]), &["other machines", "127.0.0.1:15021"]);
    refused(&with(&["--labels", "app"]), &["app=shop,tier=web"]);
    refused(&with(&["--captured-ports", "80,http"]), &["`http` is not a port", "1 to 65535"]);
    refused(&with(&["--drain-grace", "25"]), &["25s"]);
    refused(&with(&["--threads", "0"]), &["1..=64"]);
    refused(&with(&["--log-level", "loud"]), &["error, warn, info"]);
    refused(&["redirect", "--to", "15001"], &["--ports"]);
}
