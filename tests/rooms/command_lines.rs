//! The operator writes the sidecar's command lines without linking it. Each one that it writes is one that the sidecar takes.
use clap::Parser;
use serde_json::Value;
use std::path::Path;
use weir_sidecar::cli::Cli;

/// What the kubelet puts in place of `$(NAME)`.
const FROM_THE_POD: &[(&str, &str)] =
    &[("$(WEIR_NAMESPACE)", "shop"), ("$(WEIR_POD_IP)", "10.244.0.7"), ("$(WEIR_POD_NAME)", "shop-1")];

/// The commands of the injected containers of a pod, their hooks included.
fn command_lines(pod: &Value) -> Vec<Vec<String>> {
    let containers = pod["spec"]["initContainers"].as_array().cloned().unwrap_or_default();
    let words = |value: &Value| -> Vec<String> {
        let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(|word| FROM_THE_POD.iter().fold(word.to_owned(), |w, (name, value)| w.replace(name, value))).collect()
    };
    let ours = containers.iter().filter(|c| ["weir-redirect", "weir-sidecar"].map(Value::from).contains(&c["name"]));
    ours.flat_map(|container| {
        let hook = words(&container["lifecycle"]["preStop"]["exec"]["command"]);
        [[words(&container["command"]), words(&container["args"])].concat(), hook]
    })
    .filter(|line| line.first().is_some_and(|program| program == "weir-sidecar"))
    .collect()
}

#[test]
fn every_command_line_that_the_injector_writes_is_one_that_the_sidecar_takes() {
    let pairs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../operator/tests/inject/testdata");
    let mut seen = 0;
    for entry in std::fs::read_dir(pairs).expect("the injector has golden pairs").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // A pod as a server gave it may hold what another version wrote, or what a test made wrong on purpose.
        if !name.ends_with(".injected.yaml") || name.starts_with("live-") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a golden file is text");
        let pod: Value = serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        for line in command_lines(&pod) {
            seen += 1;
            if let Err(refusal) = Cli::try_parse_from(&line) {
                panic!("{name}: {line:?}\n{refusal}");
            }
        }
    }
    assert!(seen > 50, "only {seen} command lines were found in the golden pairs");
}
