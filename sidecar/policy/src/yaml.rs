//! YAML text into JSON values: the only place that reads YAML. Through JSON, because that is what the API server makes of
//! the same text, and bounded, because YAML's aliases can make a small text large. Stricter than YAML where it would guess:
//! a field that comes twice is a fault, as it is for `kubectl`.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{Faults, MAX_TEXT};

/// How many values the documents of one text may hold once aliases are written out.
const MAX_VALUES: usize = 200_000;

/// The documents of a text, empty ones left out, each with its number in the text (from 1 on).
pub(crate) fn documents(text: &str) -> Result<Vec<(usize, Value)>, Faults> {
    if text.len() > MAX_TEXT {
        return Err(Faults::one("", format!("is {} bytes long; at most {MAX_TEXT} are read", text.len())));
    }
    let mut budget = MAX_VALUES;
    let mut values = Vec::new();
    for (i, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let value = Bounded { budget: &mut budget }
            .deserialize(document)
            .map_err(|e| Faults::one(format!("document {}", i + 1), format!("is not YAML that can be read: {e}")))?;
        if !value.is_null() {
            values.push((i + 1, value));
        }
    }
    Ok(values)
}

/// Reads one value as long as the budget lasts.
struct Bounded<'b> {
    budget: &'b mut usize,
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        *self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| D::Error::custom(format!("more than {MAX_VALUES} values, aliases written out")))?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has: null, true, false, a number, a string, a list or fields with names")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    // an empty document
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom(format!("{value} is no number in JSON")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Bounded { budget: self.budget })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let (mut map, mut seen) = (Map::new(), HashSet::new());
        while let Some(name) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(Bounded { budget: self.budget })?;
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("field `{name}` comes twice; write it once")));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(text: &str) -> String {
        documents(text).unwrap_err().to_string()
    }

    #[test]
    fn documents_become_json_and_empty_ones_are_left_out() {
        let text = "# a comment\n---\na: 1\n---\n---\nb: [x, true, null, 1.5, 'no', no]\n";
        let values: Vec<Value> = documents(text).unwrap().into_iter().map(|(_, v)| v).collect();
        assert_eq!(values, [json!({"a": 1}), json!({"b": ["x", true, null, 1.5, "no", "no"]})]);
    }

    #[test]
    fn a_field_that_comes_twice_is_a_fault() {
        assert!(fault("a: 1\nb: 2\na: 3\n").contains("field `a` comes twice"), "{}", fault("a: 1\nb: 2\na: 3\n"));
    }

    #[test]
    fn aliases_cannot_make_a_small_text_large() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..9 {
            text += &format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(", "));
        }
        assert!(documents(&text).is_err());
    }

    #[test]
    fn deep_nesting_is_a_fault_and_no_overflow() {
        assert!(documents(&"[".repeat(100_000)).is_err());
        assert!(documents(&format!("{}{}", "[".repeat(2_000), "]".repeat(2_000))).is_err());
    }

    #[test]
    fn a_text_over_the_bound_is_not_read() {
        assert!(fault(&"#".repeat(MAX_TEXT + 1)).contains("at most 1048576 are read"));
    }

    #[test]
    fn faults_name_the_document_and_the_line() {
        let text = fault("a: 1\n---\nb: [\n");
        assert!(text.starts_with("document 2: ") && text.contains("line"), "{text}");
    }
}
