//! One header or parameter of a match, as written.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::rule;

/// One header or parameter: its name, and exactly one of `exact`, `regex`, `present`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::field_match()))]
pub struct FieldMatch<Name> {
    /// Its name: of a header in upper or lower case, of a parameter decoded. Example: `x-plan`.
    pub name: Name,

    /// The whole value, without white space around it, at most 256 characters. Example: `pro`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 256))]
    pub exact: Option<String>,

    /// A regular expression that matches anywhere in the value, at most 512 characters, as for `paths`.
    /// Example: `^(pro|team)$`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 512))]
    pub regex: Option<String>,

    /// true: that it is there is enough, whatever its value, even an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("x-kubernetes-validations" = rule::only_true()))]
    pub present: Option<bool>,
}

/// A header's name, in upper or lower case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HeaderName(pub String);

/// A parameter's name, decoded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParameterName(pub String);

impl JsonSchema for HeaderName {
    fn schema_name() -> Cow<'static, str> {
        "HeaderName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1, "maxLength": 128, "x-kubernetes-validations": rule::header_name()})
    }
}

impl JsonSchema for ParameterName {
    fn schema_name() -> Cow<'static, str> {
        "ParameterName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1, "maxLength": 256})
    }
}
