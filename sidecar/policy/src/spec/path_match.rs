//! One path of a match, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;

/// One path: exactly one of `exact`, `prefix`, `regex`. The query is never looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::path_match()))]
pub struct PathMatch {
    /// The whole path, at most 256 characters; a slash at the end is ignored. Example: `/login`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::path()))]
    pub exact: Option<String>,

    /// The beginning of the path by whole segments, at most 256 characters: `/api` matches `/api` and `/api/users`, not
    /// `/apis`. `/` matches everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::path()))]
    pub prefix: Option<String>,

    /// A regular expression of at most 512 characters, in the syntax of https://docs.rs/regex without look-around and
    /// back-references; its classes are ASCII, and `.` is any byte. It may match anywhere in the decoded path: begin it with
    /// `^` and end it with `$` where that is not meant. Example: `^/v[0-9]+/orders$`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 512))]
    pub regex: Option<String>,
}
