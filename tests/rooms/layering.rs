//! Imports point one way. ARCHITECTURE.md draws the arrows; this holds them, over what `cargo metadata` says.
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

/// Each room and the rooms it may name in `[dependencies]`.
const ARROWS: &[(&str, &[&str])] = &[
    ("weir-limiter", &[]),
    ("weir-policy", &["weir-limiter"]),
    ("weir-store", &["weir-limiter"]),
    ("weir-sidecar", &["weir-limiter", "weir-policy", "weir-store"]),
    ("weir-crds", &["weir-policy"]),
    ("weir-operator", &["weir-crds", "weir-policy", "weir-store"]),
    ("weir-tests", &[]),
];

/// What a room must not link, however it would come in, and why.
const NEVER: &[(&str, &str, &str)] = &[
    ("weir-limiter", "tokio", "the algorithms do no input or output"),
    ("weir-limiter", "redis", "the algorithms do no input or output"),
    ("weir-policy", "tokio", "compile is pure"),
    ("weir-policy", "kube", "the sidecar and the command line compile policies without Kubernetes"),
    ("weir-policy", "hyper", "matching sees a request, not a connection"),
    ("weir-store", "kube", "counters don't know Kubernetes"),
    ("weir-store", "hyper", "counters don't know HTTP"),
    ("weir-sidecar", "kube", "the sidecar has no API token and needs none"),
    ("weir-operator", "weir-sidecar", "the operator never sees the proxy"),
    ("weir-sidecar", "aws-lc-rs", "one TLS provider: ring"),
    ("weir-operator", "aws-lc-rs", "one TLS provider: ring"),
    ("weir-sidecar", "openssl-sys", "one TLS provider: ring"),
    ("weir-operator", "openssl-sys", "one TLS provider: ring"),
];

fn metadata() -> Metadata {
    // of other platforms' packages a build leaves nothing behind to be read offline
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .other_options(["--locked", "--offline", "--filter-platform", &platform].map(str::to_owned))
        .exec()
        .expect("cargo metadata runs in the workspace")
}

/// Everything that a package links in its normal build, by name.
fn linked(metadata: &Metadata, package: &str) -> BTreeSet<String> {
    let resolve = metadata.resolve.as_ref().expect("the dependency graph is resolved");
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let root = metadata.packages.iter().find(|p| p.name == package).unwrap_or_else(|| panic!("no package {package}"));
    let (mut seen, mut open) = (BTreeSet::new(), vec![&root.id]);
    while let Some(id) = open.pop() {
        for dependency in &nodes[id].deps {
            let normal = dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            if normal && seen.insert(metadata[&dependency.pkg].name.to_string()) {
                open.push(&dependency.pkg);
            }
        }
    }
    seen
}

#[test]
fn every_room_names_only_the_rooms_below_it() {
    let metadata = metadata();
    let rooms: BTreeSet<String> = metadata.workspace_packages().iter().map(|p| p.name.to_string()).collect();
    let drawn: BTreeSet<String> = ARROWS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(rooms, drawn, "the list of rooms in this test is not that of the workspace");
    for (room, allowed) in ARROWS {
        let package = metadata.workspace_packages().into_iter().find(|p| p.name == *room).expect("listed above");
        for dependency in package.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal) {
            let name = dependency.name.as_str();
            assert!(!rooms.contains(name) || allowed.contains(&name), "{room} names {name}, which is not below it");
        }
    }
}

#[test]
fn no_room_links_what_it_must_not_see() {
    let metadata = metadata();
    for (room, stranger, why) in NEVER {
        assert!(!linked(&metadata, room).contains(*stranger), "{room} links {stranger}: {why}");
    }
}

#[test]
fn nothing_is_published_and_every_package_takes_the_workspace_lints() {
    for package in metadata().workspace_packages() {
        assert_eq!(package.publish, Some(vec![]), "{}: the short names on the registry are strangers'", package.name);
        let manifest = std::fs::read_to_string(&package.manifest_path).expect("a workspace manifest is readable");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} has lints of its own", package.name);
    }
}
