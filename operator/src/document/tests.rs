use super::*;

fn entry(name: &str, generation: i64, spec: Value) -> PolicyEntry {
    PolicyEntry { namespace: "shop".into(), name: name.into(), uid: format!("uid-{name}"), generation, spec }
}

fn good(name: &str, generation: i64) -> PolicyEntry {
    let limit = json!({"name": "all", "algorithm": "FixedWindow", "rate": {"requests": generation, "period": "1h"}});
    entry(name, generation, json!({"limits": [limit]}))
}

fn bad(name: &str, generation: i64) -> PolicyEntry {
    entry(name, generation, json!({"limits": []}))
}

fn build_from(entries: &[PolicyEntry], last: &PolicyDocument) -> Built {
    let verdicts: Vec<_> = entries.iter().map(weir_policy::compile).collect();
    build(entries.iter().zip(&verdicts), last)
}

fn held(built: &Built) -> Vec<(&str, i64)> {
    built.document.policies.iter().map(|entry| (entry.name.as_str(), entry.generation)).collect()
}

fn none() -> PolicyDocument {
    PolicyDocument::default()
}

#[test]
fn every_policy_that_compiles_is_handed_out() {
    assert_eq!(held(&build_from(&[good("a", 1), good("b", 2)], &none())), [("a", 1), ("b", 2)]);
}

#[test]
fn a_policy_that_fails_keeps_its_last_good_version_and_takes_no_other_down() {
    let last = build_from(&[good("a", 1), good("b", 1)], &none()).document;
    assert_eq!(held(&build_from(&[bad("a", 2), good("b", 2)], &last)), [("a", 1), ("b", 2)]);
}

#[test]
fn a_policy_that_never_compiled_is_left_out() {
    assert_eq!(held(&build_from(&[bad("a", 1), good("b", 1)], &none())), [("b", 1)]);
}

#[test]
fn a_recreated_policy_does_not_inherit_its_namesakes_version() {
    let last = build_from(&[good("a", 7)], &none()).document;
    let recreated = PolicyEntry { uid: "another".into(), ..bad("a", 1) };
    assert!(held(&build_from(&[recreated], &last)).is_empty());
}

#[test]
fn what_stood_before_is_not_trusted_unread() {
    let last = PolicyDocument { policies: vec![bad("a", 1)] };
    assert!(held(&build_from(&[bad("a", 2)], &last)).is_empty());
}

#[test]
fn without_policies_the_document_is_an_empty_list() {
    let last = build_from(&[good("a", 1)], &none()).document;
    let built = build_from(&[], &last);
    assert_eq!(PolicyDocument::from_json(&built.json).unwrap(), none());
}

#[test]
fn the_order_in_which_policies_are_seen_changes_nothing() {
    let there = build_from(&[good("a", 1), good("b", 1)], &none());
    let back = build_from(&[good("b", 1), good("a", 1)], &none());
    assert_eq!(there.json, back.json);
}

#[test]
fn a_document_that_is_too_large_is_not_handed_out_and_the_last_good_one_stays() {
    let last = build_from(&[good("a", 1), good("deleted", 1)], &none()).document;
    let long = |name: &str| {
        let paths: Vec<Value> = (0..32).map(|i| json!({"exact": format!("/{i}/{}", "x".repeat(250))})).collect();
        let limit = |i: usize| {
            json!({"name": format!("l{i}"), "match": {"paths": paths}, "algorithm": "FixedWindow",
            "rate": {"requests": 1, "period": "1h"}})
        };
        entry(name, 1, json!({"limits": (0..32).map(limit).collect::<Vec<_>>()}))
    };
    let many: Vec<PolicyEntry> = (0..8).map(|i| long(&format!("p{i}"))).chain([good("a", 2)]).collect();
    let built = build_from(&many, &last);
    assert_eq!(held(&built), [("a", 1)], "without the policy that is no more");
    assert!(built.too_large.is_some_and(|bytes| bytes > LARGEST), "{:?}", built.too_large);
    let fewer = build_from(&many[7..], &last);
    assert_eq!(held(&fewer), [("p7", 1), ("a", 2)]);
}
