//! The committed copies of the CustomResourceDefinition are what the types say, and a real API server can take it.
//! `WEIR_WRITE=1 cargo test -p weir-crds` writes them again.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Where copies are: for people and `kubectl apply`, and for the chart, whose template reads its own files only.
const COPIES: [&str; 2] = ["ratelimitpolicies.weir.dev.yaml", "../charts/weir/files/crd.yaml"];

fn copies() -> impl Iterator<Item = PathBuf> {
    COPIES.iter().map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
}

fn schema() -> Value {
    let crd = serde_json::to_value(weir_crds::crd().ok()).unwrap_or_default();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Calls `visit` for every schema in the schema, with its path.
fn walk(schema: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), visit);
    }
    if schema["items"].is_object() {
        walk(&schema["items"], &format!("{path}[]"), visit);
    }
    if schema["additionalProperties"].is_object() {
        walk(&schema["additionalProperties"], &format!("{path}.*"), visit);
    }
}

#[test]
fn the_committed_definition_is_what_the_types_say() {
    let yaml = weir_crds::crd_yaml().unwrap();
    for path in copies() {
        if std::env::var_os("WEIR_WRITE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &yaml).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == yaml, "{} is stale; write it with WEIR_WRITE=1 cargo test -p weir-crds", path.display());
    }
}

#[test]
fn the_schema_is_structural_and_bounded() {
    walk(&schema(), "", &mut |path, schema| {
        let kind = schema["type"].as_str().unwrap_or_else(|| panic!("{path} has no type: {schema}"));
        for word in ["oneOf", "anyOf", "allOf", "$ref", "examples", "const"] {
            assert!(schema.get(word).is_none(), "{path} has {word}");
        }
        assert_ne!(schema["additionalProperties"], false, "{path} is closed in a way that Kubernetes refuses");
        if !path.starts_with(".spec") {
            return;
        }
        assert!(schema.get("nullable").is_none(), "{path} may be null, which means nothing here");
        let bound = match kind {
            "array" => schema["maxItems"].is_u64(),
            "string" => schema["maxLength"].is_u64() || schema["enum"].is_array(),
            "boolean" => true,
            "integer" => schema["minimum"].is_number() && schema["maximum"].is_number(),
            _ => schema["properties"].is_object() || schema["maxProperties"].is_u64(),
        };
        assert!(bound, "{path} has no bounds, which CEL's cost counts with: {schema}");
        if kind == "integer" {
            assert_eq!(schema["format"], "int64", "{path}");
        }
    });
}

#[test]
fn every_field_of_the_spec_is_explained() {
    walk(&schema()["properties"]["spec"], "spec", &mut |path, schema| {
        let is_field = !path.ends_with("[]") && !path.ends_with(".*");
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(!is_field || text.len() > 20, "{path} is not explained: {text:?}");
    });
}

#[test]
fn columns_and_names_are_those_that_people_use() {
    let crd = serde_json::to_value(weir_crds::crd().unwrap()).unwrap();
    assert_eq!(crd["metadata"]["name"], weir_crds::CRD_NAME);
    assert_eq!(crd["spec"]["names"]["shortNames"], serde_json::json!(["rlp"]));
    assert_eq!(crd["spec"]["scope"], "Namespaced");
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version["subresources"]["status"], serde_json::json!({}));
    let columns: Vec<&str> = version["additionalPrinterColumns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Limits", "Accepted", "Enforced", "Sidecars", "Age"]);
}
