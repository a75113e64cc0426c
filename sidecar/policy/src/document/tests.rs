//! The document is the same bytes for the same policies, and read back as written.

use serde_json::json;

use super::*;

fn entry(namespace: &str, name: &str) -> PolicyEntry {
    let spec = json!({"limits": [{"name": "b", "algorithm": "x"}], "a": {"z": 1, "c": null}});
    PolicyEntry { namespace: namespace.into(), name: name.into(), uid: "u-1".into(), generation: 2, spec }
}

#[test]
fn the_bytes_do_not_depend_on_the_order_of_policies() {
    let (a, b, c) = (entry("a", "x"), entry("a", "y"), entry("b", "x"));
    let one = PolicyDocument { policies: vec![c.clone(), a.clone(), b.clone()] };
    let other = PolicyDocument { policies: vec![a.clone(), b.clone(), c.clone()] };
    assert_eq!(one.to_json(), other.to_json());
    assert_eq!(PolicyDocument::from_json(&one.to_json()).unwrap(), other);
}

#[test]
fn the_format_is_frozen() {
    let document = PolicyDocument { policies: vec![entry("shop", "api")] };
    let frozen = concat!(
        "{\"policies\":[\n",
        r#"{"generation":2,"name":"api","namespace":"shop","spec":{"a":{"c":null,"z":1},"limits":[{"algorithm":"x","name":"b"}]},"uid":"u-1"}"#,
        "\n]}\n"
    );
    assert_eq!(document.to_json(), frozen);
    assert_eq!(PolicyDocument::default().to_json(), "{\"policies\":[]}\n");
}

#[test]
fn a_wrong_spec_spoils_neither_the_document_nor_the_other_policies() {
    let good = json!({"limits": [{"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1s"}}]});
    let document =
        PolicyDocument { policies: vec![entry("shop", "bad"), PolicyEntry { spec: good, ..entry("shop", "good") }] };
    let read = PolicyDocument::from_json(&document.to_json()).unwrap();
    let valid: Vec<bool> = read.policies.iter().map(|p| crate::compile(p).is_ok()).collect();
    assert_eq!(valid, [false, true]);
}

#[test]
fn what_is_no_document_is_refused() {
    for text in ["", "null", "[]", "{}", "{\"policies\":{}}", "{\"policies\":[{}]}", "{\"policies\":[],\"x\":1}"] {
        let fault = PolicyDocument::from_json(text).unwrap_err().to_string();
        assert!(fault.contains("is not a policy document of format v1"), "{text}: {fault}");
    }
}
