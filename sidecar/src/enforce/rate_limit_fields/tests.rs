//! The two fields, read back by a parser that is not ours.
use super::*;
use sfv::{BareItem, List, ListEntry, Parser};
use weir_limiter::Quota;

/// Name and parameters of each item, as a client reads them.
fn read(value: &HeaderValue) -> Vec<(String, Vec<(String, i64)>)> {
    let list: List = Parser::new(value.as_bytes()).parse().unwrap_or_else(|e| panic!("{e}: {value:?}"));
    let item = |entry| {
        let ListEntry::Item(item) = entry else { panic!("an inner list in {value:?}") };
        let BareItem::String(name) = item.bare_item else { panic!("not named by a string: {value:?}") };
        let number = |value| if let BareItem::Integer(n) = value { n.into() } else { panic!("{value:?}") };
        (name.into(), item.params.into_iter().map(|(key, value)| (key.into(), number(value))).collect())
    };
    list.into_iter().map(item).collect()
}

fn quota(requests: u64, micros: u64) -> Quota {
    Quota::new(requests, Duration::from_micros(micros)).unwrap()
}

fn parameters(limit: Limit) -> Vec<(String, i64)> {
    read(&quota_policies([("api/a".to_owned(), &limit)]).unwrap()).remove(0).1
}

fn named(list: &[(&str, i64)]) -> Vec<(String, i64)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

const SECOND: u64 = 1_000_000;

#[test]
fn a_window_is_told_by_its_period_when_that_is_whole_seconds() {
    let by = |micros| parameters(Limit::fixed_window(quota(60, micros)));
    assert_eq!(by(60 * SECOND), named(&[("q", 60), ("w", 60)]));
    assert_eq!(by(2_592_000 * SECOND), named(&[("q", 60), ("w", 2_592_000)]));
    // a second would be less than it is, two more
    for micros in [1_000, 500_000, 1_500_000] {
        assert_eq!(by(micros), named(&[("q", 60)]));
    }
    assert_eq!(parameters(Limit::sliding_window(quota(0, SECOND))), named(&[("q", 0), ("w", 1)]));
    assert_eq!(parameters(Limit::sliding_log(quota(5, 7 * SECOND)).unwrap()), named(&[("q", 5), ("w", 7)]));
}

#[test]
fn a_bucket_is_told_by_what_it_holds_and_how_long_that_takes_to_come_back() {
    let by = |requests, micros, burst| parameters(Limit::token_bucket(quota(requests, micros), burst).unwrap());
    assert_eq!(by(60, 60 * SECOND, 20), named(&[("q", 20), ("w", 20)]));
    assert_eq!(by(7, 60 * SECOND, 10), named(&[("q", 10), ("w", 86)]));
    assert_eq!(by(1000, SECOND, 10), named(&[("q", 10)]));
    assert_eq!(by(10, SECOND, 10), named(&[("q", 10), ("w", 1)]));
    assert_eq!(by(0, SECOND, 10), named(&[("q", 10)]));
    assert_eq!(
        parameters(Limit::leaky_bucket(quota(1, 2_592_000 * SECOND), 121).unwrap()),
        named(&[("q", 121), ("w", 121 * 2_592_000)])
    );
}

#[test]
fn the_first_eight_are_told_and_no_name_twice() {
    let limit = Limit::fixed_window(quota(1, SECOND));
    let names = |names: &[&str]| -> Vec<String> {
        let value = quota_policies(names.iter().map(|name| ((*name).to_owned(), &limit))).unwrap();
        read(&value).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&["a/b", "a/a", "a/b", "b/a"]), ["a/b", "a/a", "b/a"]);
    let many: Vec<String> = (0..40).map(|i| format!("api/limit-{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(names(&many), many[..8]);
}

#[test]
fn the_longest_names_stay_within_a_kibibyte() {
    let limit = Limit::fixed_window(quota(1_000_000_000, 2_592_000 * SECOND));
    let long = |i: u32| (format!("{}{i}/{}", "p".repeat(252), "l".repeat(63)), &limit);
    let value = quota_policies((0..8).map(long)).unwrap();
    assert!(value.len() <= BYTES, "{}", value.len());
    assert_eq!(read(&value).len(), 2);
}

#[test]
fn what_is_left_is_told_under_the_names_of_both_revisions() {
    let value = service_limit("api/per-ip", 7, Some(1)).unwrap();
    assert_eq!(value, "\"api/per-ip\";r=7;t=1;a=7;w=1");
    assert_eq!(read(&value), [("api/per-ip".to_owned(), named(&[("r", 7), ("t", 1), ("a", 7), ("w", 1)]))]);
    let value = service_limit("api/per-ip", 1_000_000_000, None).unwrap();
    assert_eq!(read(&value)[0].1, named(&[("r", 1_000_000_000), ("a", 1_000_000_000)]));
}

#[test]
fn a_dictionary_of_an_older_draft_is_not_a_list() {
    let is_list = |value| super::is_list(&HeaderValue::from_static(value));
    for value in ["\"a=b\";r=1", "default;r=1;t=2", "100;w=60, 10;w=1", "\"a\""] {
        assert!(is_list(value) && Parser::new(value).parse::<List>().is_ok(), "{value}");
    }
    for value in ["limit=100, remaining=50, reset=5", "limit=100"] {
        assert!(!is_list(value) && Parser::new(value).parse::<List>().is_err(), "{value}");
    }
}
