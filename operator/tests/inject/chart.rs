//! The chart and the command line: what one gives, the other takes. Read as text, because the test has no helm.

use std::collections::BTreeSet;

use clap::CommandFactory;
use weir_operator::cli::Cli;

/// Names of the flags that the chart's Deployment gives to the operator.
fn given() -> BTreeSet<String> {
    let template = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/weir/templates/operator.yaml");
    let text = std::fs::read_to_string(template).unwrap();
    let flags = text.lines().filter_map(|line| line.trim().strip_prefix("- --"));
    flags.map(|flag| flag.split('=').next().unwrap().to_owned()).collect()
}

#[test]
fn the_chart_gives_flags_that_exist_and_all_that_are_required() {
    let command = Cli::command();
    let run = command.find_subcommand("run").unwrap();
    let known: BTreeSet<&str> = run.get_arguments().filter_map(|argument| argument.get_long()).collect();
    let given = given();
    assert!(!given.is_empty());
    for flag in &given {
        assert!(known.contains(flag.as_str()), "--{flag} is not a flag of the operator; there are {known:?}");
    }
    for required in run.get_arguments().filter(|argument| argument.is_required_set()) {
        let name = required.get_long().unwrap();
        assert!(given.contains(name), "the chart doesn't give --{name}");
    }
}
