//! Every example that ships is a policy that compiles.

use std::path::Path;

#[test]
fn every_example_compiles_and_warns_of_nothing_that_it_does_not_explain() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut read = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let entries = weir_policy::read_policies(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(!entries.is_empty(), "{} holds no policy", path.display());
        assert!(text.starts_with('#'), "{} does not say what it is for", path.display());
        for entry in entries {
            let policy = weir_policy::compile(&entry).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let warned: Vec<&str> = policy.warnings.iter().map(|warning| warning.path.as_str()).collect();
            let explained: &[&str] = match path.file_stem().and_then(|name| name.to_str()) {
                Some("cost") => &["spec.limits[0].cost.header"],
                Some("tiers") => &["spec.limits[0].tiers[1].match", "spec.limits[1].cost.query"],
                _ => &[],
            };
            assert_eq!(warned, explained, "{}: {:?}", path.display(), policy.warnings);
        }
        read.push(path.file_stem().unwrap().to_string_lossy().into_owned());
    }
    read.sort();
    assert_eq!(
        read,
        [
            "cost",
            "exempt",
            "keys",
            "layers",
            "login",
            "matching",
            "per-client-behind-proxy",
            "per-tenant",
            "queue",
            "quickstart",
            "responses",
            "shadow",
            "slowdown",
            "tiers"
        ]
    );
}

#[test]
fn a_policy_of_the_cluster_compiles_from_what_it_holds() {
    let text = include_str!("../examples/quickstart.yaml");
    let policy: weir_crds::RateLimitPolicy = serde_yaml::from_str(text).unwrap();
    assert!(weir_policy::compile(&policy.entry()).is_ok());
}

#[test]
fn a_policy_that_breaks_every_rule_is_still_read() {
    let text = include_str!("../examples/quickstart.yaml").replace("limits:", "limit:").replace("1m", "1x");
    let policy: weir_crds::RateLimitPolicy = serde_yaml::from_str(&text).unwrap();
    assert!(weir_policy::compile(&policy.entry()).is_err());
}
