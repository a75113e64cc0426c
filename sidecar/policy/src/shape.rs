//! Is a value of the shape that the schema of the spec describes? Unknown and missing fields, wrong types, unknown words,
//! and numbers, texts and lists out of bounds, all of them at once. The schema is the one that the cluster gets, so both
//! refuse the same. Not here: what the shape can't say, which is [`crate::compile`]'s.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::RateLimitPolicySpec;
use crate::fault::Collector;

/// The spec's schema, everything inline.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<RateLimitPolicySpec>().to_value()
});

/// Holds a spec against the schema; faults are added with paths that begin with `path`.
pub(crate) fn check_spec(spec: &Value, path: &str, faults: &mut Collector) {
    check(&SCHEMA, spec, path, faults);
}

fn check(schema: &Value, value: &Value, path: &str, faults: &mut Collector) {
    let expected = schema.get("type").and_then(Value::as_str).unwrap_or("string");
    match (expected, value) {
        ("object", Value::Object(fields)) => check_fields(schema, fields, path, faults),
        ("array", Value::Array(items)) => {
            check_bounds(schema, ["minItems", "maxItems"], items.len(), ("entry", "entries"), path, faults);
            // what is over the bound is one fault, not a thousand
            let read = number(schema, "maxItems").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
            for (i, item) in items.iter().take(read).enumerate() {
                check(&schema["items"], item, &format!("{path}[{i}]"), faults);
            }
        }
        ("boolean", Value::Bool(_)) => {}
        ("integer", Value::Number(_)) => check_integer(schema, value, path, faults),
        ("string", Value::String(text)) => match words(schema) {
            words if words.is_empty() => {
                let length = text.chars().count();
                check_bounds(schema, ["minLength", "maxLength"], length, ("character", "characters"), path, faults);
            }
            words if words.contains(&text.as_str()) => {}
            words => faults.add(path, format!("unknown word {}; write {}", quoted(text), one_of(text, &words))),
        },
        (_, wrong) => faults.add(path, wrong_type(expected, wrong)),
    }
}

fn check_fields(schema: &Value, fields: &Map<String, Value>, path: &str, faults: &mut Collector) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known: Vec<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            let about = properties.and_then(|p| p.get(name)?.get("description")?.as_str()).unwrap_or_default();
            let about = about.split(['.', ':']).next().unwrap_or_default().replace('\n', " ");
            faults.add(format!("{path}.{name}"), format!("is required: {}", lower_first(&about)));
        }
    }
    if number(schema, "maxProperties") == Some(0) {
        if !fields.is_empty() {
            faults.add(path, "has nothing more to say: write {}");
        }
        return;
    }
    let entries = ("entry", "entries");
    check_bounds(schema, ["minProperties", "maxProperties"], fields.len(), entries, path, faults);
    let read = number(schema, "maxProperties").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    for (name, value) in fields.iter().take(read) {
        let at = format!("{path}.{}", plain(name));
        match (properties.and_then(|p| p.get(name)), schema.get("additionalProperties")) {
            (Some(property), _) => check(property, value, &at, faults),
            (None, Some(values @ Value::Object(_))) => check(values, value, &at, faults),
            (None, _) => faults.add(at, format!("unknown field; {}", suggestion(name, &known))),
        }
    }
}

fn check_integer(schema: &Value, value: &Value, path: &str, faults: &mut Collector) {
    let (min, max) = (number(schema, "minimum").unwrap_or(i64::MIN), number(schema, "maximum").unwrap_or(i64::MAX));
    match value.as_i64() {
        Some(n) if (min..=max).contains(&n) => {}
        Some(_) => faults.add(path, format!("must be {min} to {max}, is {value}")),
        None if value.is_f64() => faults.add(path, format!("must be a whole number, {min} to {max}, is {value}")),
        None => faults.add(path, format!("must be {min} to {max}, is {value}")),
    }
}

fn check_bounds(
    schema: &Value,
    [min, max]: [&str; 2],
    is: usize,
    (one, many): (&str, &str),
    path: &str,
    faults: &mut Collector,
) {
    let bound = |name| number(schema, name).and_then(|n| usize::try_from(n).ok());
    let unit = |n: usize| if n == 1 { one } else { many };
    if let Some(min) = bound(min).filter(|min| is < *min) {
        faults.add(path, format!("must have at least {min} {}, has {is}", unit(min)));
    }
    if let Some(max) = bound(max).filter(|max| is > *max) {
        faults.add(path, format!("must have at most {max} {}, has {is}", unit(max)));
    }
}

/// The words that a schema allows, written as `enum` or as one `const` each.
fn words(schema: &Value) -> Vec<&str> {
    let alternatives = schema["oneOf"].as_array().into_iter().flatten();
    let nested = alternatives.flat_map(|s| s["enum"].as_array().into_iter().flatten().chain(s.get("const")));
    schema["enum"].as_array().into_iter().flatten().chain(nested).filter_map(Value::as_str).collect()
}

fn number(schema: &Value, name: &str) -> Option<i64> {
    let value = schema.get(name)?;
    value.as_i64()
}

fn wrong_type(expected: &str, value: &Value) -> String {
    let (right, hint) = match (expected, value) {
        ("object", Value::Null) => ("fields", "; write {} for the defaults, or leave the field out"),
        ("object", _) => ("fields", ""),
        ("array", Value::Null) => ("a list", "; leave the field out, or write - before each entry"),
        ("array", _) => ("a list", "; write - before each entry"),
        ("integer", Value::String(_)) => ("a whole number", "; write it without quotes"),
        ("integer", _) => ("a whole number", ""),
        ("boolean", Value::String(_)) => ("true or false", "; write it without quotes"),
        ("boolean", _) => ("true or false", ""),
        (_, Value::Null) => ("a string", "; leave the field out, or give it a value"),
        (_, Value::Number(_) | Value::Bool(_)) => ("a string", "; put it in quotes"),
        _ => ("a string", ""),
    };
    format!("must be {right}, is {}{hint}", kind_of(value))
}

/// What a value is, for a person.
pub(crate) fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Bool(b) => format!("{b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "fields".to_owned(),
    }
}

/// `text` in quotes, cut to what a message has room for.
pub(crate) fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(40).collect();
    if cut.len() < text.len() { format!("{cut:?}…") } else { format!("{cut:?}") }
}

/// What to write instead of a field that is not known.
pub(crate) fn suggestion(name: &str, known: &[&str]) -> String {
    match known.iter().find(|k| near(name, k)) {
        Some(k) => format!("did you mean {k}"),
        None => format!("known here: {}", known.join(", ")),
    }
}

fn one_of(text: &str, words: &[&str]) -> String {
    match words.iter().find(|w| near(text, w)) {
        Some(word) => (*word).to_owned(),
        None => words.join(" or "),
    }
}

/// A field's name as part of a path: cut, and without what would break a line.
fn plain(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// True when the two differ in case or signs only, or by one letter that is wrong, missing or too many.
fn near(a: &str, b: &str) -> bool {
    let fold = |s: &str| -> Vec<char> {
        s.chars().take(64).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (a, b) = (fold(a), fold(b));
    // any two short words are near
    if a.len().min(b.len()) < 4 {
        return a == b;
    }
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    match long.len() - short.len() {
        0 => short.get(same + 1..).unwrap_or_default() == long.get(same + 1..).unwrap_or_default(),
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests;
