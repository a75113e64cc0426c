use clap::{CommandFactory as _, Parser as _};

use super::*;

const LEAST: [&str; 8] = [
    "weir-operator",
    "run",
    "--sidecar-image",
    "registry.example/weir-sidecar:1",
    "--redis-url",
    "redis://weir-redis.weir-system.svc:6379/0",
    "--install-key-file",
    "/etc/weir/install-key",
];

fn parse(more: &[&str]) -> Result<RunFlags, String> {
    let cli = Cli::try_parse_from(LEAST.iter().chain(more)).map_err(|e| e.to_string())?;
    let Command::Run(flags) = cli.command;
    Ok(*flags)
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn the_defaults_are_the_charts_names() {
    let flags = parse(&[]).unwrap();
    assert_eq!(
        [&flags.namespace, &flags.lease, &flags.webhook_service, &flags.mutating_webhook, &flags.validating_webhook],
        ["weir-system", "weir-operator", "weir-operator", "weir-injector", "weir-policies"]
    );
    assert_eq!(flags.ca_secret, "weir-webhook-ca");
    assert_eq!((flags.webhook_listen.port(), flags.admin.port()), (9443, 9090));
}

#[test]
fn a_wrong_flag_says_what_would_be_right() {
    for (flags, right) in [
        (["--capture", "sideways"], "auto, redirect or named-port"),
        (["--admin", "9090"], "0.0.0.0:9443"),
        (["--namespace", "Weir System"], "lower-case"),
        (["--log-level", "loud"], "info,weir_operator=debug"),
        (["--sidecar-image-pull-policy", "Sometimes"], "IfNotPresent"),
    ] {
        let error = parse(&flags).unwrap_err();
        assert!(error.contains(flags[0]) && error.contains(right), "{error}");
    }
}

#[test]
fn what_has_no_default_is_asked_for_by_name() {
    let error = Cli::try_parse_from(["weir-operator", "run"]).unwrap_err().to_string();
    for name in ["--sidecar-image", "--redis-url", "--install-key-file"] {
        assert!(error.contains(name), "{error}");
    }
}
