//! From one document to the next.
use super::*;
use serde_json::json;

fn entry(name: &str, generation: i64, requests: serde_json::Value) -> PolicyEntry {
    PolicyEntry {
        namespace: "shop".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        generation,
        spec: json!({"limits": [{"name": "all", "algorithm": "FixedWindow", "rate": {"requests": requests, "period": "1m"}}]}),
    }
}

fn running(known: &Known) -> Vec<(String, i64)> {
    known.selected(None).into_iter().map(|r| (r.policy.id.name.clone(), r.policy.id.generation)).collect()
}

fn rejected(known: &Known) -> Vec<(String, i64)> {
    let slots =
        known.slots().filter_map(|((_, name), slot)| slot.rejected.as_ref().map(|r| (name.clone(), r.generation)));
    slots.collect()
}

fn is(list: Vec<(String, i64)>, expected: &[(&str, i64)]) {
    assert_eq!(list, expected.iter().map(|(name, generation)| ((*name).to_owned(), *generation)).collect::<Vec<_>>());
}

#[test]
fn a_bad_version_keeps_the_last_good_one_and_takes_no_other_policy_down() {
    let known = Known::default().next(vec![entry("a", 1, json!(5)), entry("b", 1, json!(5))], None);
    let known = known.next(vec![entry("a", 2, json!("many")), entry("b", 2, json!(6))], None);
    is(running(&known), &[("a", 1), ("b", 2)]);
    is(rejected(&known), &[("a", 2)]);
    let known = known.next(vec![entry("a", 3, json!(7)), entry("b", 2, json!(6))], None);
    is(running(&known), &[("a", 3), ("b", 2)]);
    is(rejected(&known), &[]);
}

#[test]
fn a_policy_that_was_never_good_is_reported_and_does_not_run() {
    let known = Known::default().next(vec![entry("a", 1, json!(-1))], None);
    is(running(&known), &[]);
    is(rejected(&known), &[("a", 1)]);
}

#[test]
fn a_policy_that_left_the_document_is_gone() {
    let known = Known::default().next(vec![entry("a", 1, json!(5))], None).next(Vec::new(), None);
    assert!(known.is_empty());
}

#[test]
fn an_unchanged_policy_is_the_same_value_not_a_new_one() {
    let first = Known::default().next(vec![entry("a", 1, json!(5))], None);
    let second = first.next(vec![entry("a", 1, json!(5)), entry("b", 1, json!(5))], None);
    assert!(Arc::ptr_eq(&first.selected(None)[0].policy, &second.selected(None)[0].policy));
}

#[test]
fn going_back_to_the_good_version_ends_the_rejection() {
    let known = Known::default().next(vec![entry("a", 1, json!(5))], None);
    let known = known.next(vec![entry("a", 2, json!(-5))], None).next(vec![entry("a", 1, json!(5))], None);
    is(running(&known), &[("a", 1)]);
    is(rejected(&known), &[]);
}

#[test]
fn of_two_policies_of_one_name_the_first_runs_and_the_second_is_reported() {
    let known = Known::default().next(vec![entry("a", 1, json!(5)), entry("a", 9, json!(6))], None);
    is(running(&known), &[("a", 1)]);
    is(rejected(&known), &[("a", 9)]);
}

#[test]
fn a_policy_of_another_namespace_is_refused_with_the_flag_that_would_take_it() {
    let known = Known::default().next(vec![entry("a", 1, json!(5))], Some("default"));
    let slot = known.slots().next().unwrap().1.clone();
    assert!(slot.rejected.unwrap().message.contains("start it with --namespace shop"));
}

#[test]
fn selectors_count_only_when_there_are_labels() {
    let mut chosen = entry("a", 1, json!(5));
    chosen.spec["selector"] = json!({"matchLabels": {"app": "shop"}});
    let known = Known::default().next(vec![chosen], None);
    let labels = |app: &str| BTreeMap::from([("app".to_owned(), app.to_owned())]);
    assert_eq!(known.selected(None).len(), 1);
    assert_eq!(known.selected(Some(&labels("shop"))).len(), 1);
    assert_eq!(known.selected(Some(&labels("web"))).len(), 0);
}
