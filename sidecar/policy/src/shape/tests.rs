//! The schema is read in full: a word in it that is not checked here would be a rule only the cluster knows.

use serde_json::json;

use super::*;

#[test]
fn every_word_of_the_schema_is_known() {
    const KNOWN: [&str; 20] = [
        "$schema",
        "title",
        "description",
        "type",
        "format",
        "default",
        "properties",
        "additionalProperties",
        "required",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "maxProperties",
        "enum",
        "oneOf",
        "const",
    ];
    fn walk(schema: &Value, path: &str) {
        for (word, value) in schema.as_object().unwrap() {
            match word.as_str() {
                "properties" => value.as_object().unwrap().iter().for_each(|(n, s)| walk(s, &format!("{path}.{n}"))),
                "items" => walk(value, path),
                "oneOf" => value.as_array().unwrap().iter().for_each(|s| walk(s, path)),
                "additionalProperties" if value.is_object() => walk(value, path),
                word => assert!(KNOWN.contains(&word) || word.starts_with("x-kubernetes-"), "{path}: {word}"),
            }
        }
    }
    walk(&SCHEMA, "spec");
}

#[test]
fn every_type_of_the_schema_is_checked() {
    fn walk(schema: &Value) {
        assert!(
            matches!(schema["type"].as_str(), Some("object" | "array" | "integer" | "string" | "boolean"))
                || !words(schema).is_empty(),
            "{schema}"
        );
        schema["properties"].as_object().into_iter().flatten().for_each(|(_, s)| walk(s));
        schema.get("items").into_iter().for_each(walk);
    }
    walk(&SCHEMA);
}

#[test]
fn a_near_miss_is_met_with_the_right_word() {
    for (wrong, right) in
        [("limit", "limits"), ("LIMITS", "limits"), ("on_store_failure", "onStoreFailure"), ("selecter", "selector")]
    {
        assert_eq!(suggestion(wrong, &["limits", "onStoreFailure", "selector"]), format!("did you mean {right}"));
    }
    assert_eq!(suggestion("tiers", &["limits", "selector"]), "known here: limits, selector");
}

#[test]
fn a_long_or_strange_text_is_cut_and_escaped_in_messages() {
    let mut faults = Collector::default();
    check_spec(&json!({"a\nb": 1, "onStoreFailure": "x".repeat(1000), "limits": [0]}), "spec", &mut faults);
    let text = faults.finish(Some(())).unwrap_err().to_string();
    assert!(text.contains("spec.a\\nb: unknown field") && text.len() < 400, "{text}");
}
