//! A selector's meaning: labels and values that Kubernetes would take, and values where an operator wants them.

use super::node::Node;
use crate::fault::Collector;
use crate::selector::{Condition, Selector, Test};
use crate::spec::LabelOperator;

const KEY: &str = "must be a label such as app or example.com/tier";
const VALUE: &str =
    "must be a label's value: at most 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit";

/// Compiles a selector; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<Selector> {
    let mut conditions = Vec::new();
    for (key, value) in node.child("matchLabels").map(|labels| labels.entries()).unwrap_or_default() {
        if !is_label_key(key) {
            faults.add(value.path(), KEY);
        }
        let text = label_value(&value, faults);
        conditions.push(text.map(|text| Condition { key: key.to_owned(), test: Test::In(vec![text]) }));
    }
    for requirement in node.child("matchExpressions").map(|list| list.items()).unwrap_or_default() {
        conditions.push(condition(&requirement, faults));
    }
    conditions.into_iter().collect::<Option<_>>().map(|conditions| Selector { conditions })
}

fn condition(node: &Node<'_>, faults: &mut Collector) -> Option<Condition> {
    let key: Option<String> = node.read("key");
    if key.as_ref().is_some_and(|key| !is_label_key(key)) {
        faults.add(node.at("key"), KEY);
    }
    let values: Vec<Option<String>> = node
        .child("values")
        .map(|list| list.items())
        .unwrap_or_default()
        .iter()
        .map(|value| label_value(value, faults))
        .collect();
    let operator: LabelOperator = node.read("operator")?;
    match (operator, values.is_empty()) {
        (LabelOperator::In | LabelOperator::NotIn, true) => {
            faults.add(node.at("values"), "must have at least one value for In and NotIn");
        }
        (LabelOperator::Exists | LabelOperator::DoesNotExist, false) => {
            faults.add(node.at("values"), "must be left out for Exists and DoesNotExist");
        }
        _ => {}
    }
    let values: Vec<String> = values.into_iter().collect::<Option<_>>()?;
    let test = match operator {
        LabelOperator::In => Test::In(values),
        LabelOperator::NotIn => Test::NotIn(values),
        LabelOperator::Exists => Test::Exists,
        LabelOperator::DoesNotExist => Test::DoesNotExist,
    };
    Some(Condition { key: key?, test })
}

fn label_value(node: &Node<'_>, faults: &mut Collector) -> Option<String> {
    let text: String = node.value()?;
    if !text.is_empty() && !is_label_word(&text) {
        faults.add(node.path(), VALUE);
    }
    Some(text)
}

/// A label: a word, with or without a DNS subdomain and a slash before it.
fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, word)) => {
            prefix.len() <= 253 && prefix.split('.').all(crate::local_file::is_dns_label) && is_label_word(word)
        }
        None => is_label_word(text),
    }
}

fn is_label_word(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && bytes.iter().copied().all(inside) && edge(bytes.first()) && edge(bytes.last())
}
