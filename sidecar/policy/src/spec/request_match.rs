//! Which requests a limit counts, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;

/// Which requests a limit counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestMatch {
    /// Methods, 1 to 32, in upper or lower case. GET covers HEAD. A request counts when its method, or one that it asks
    /// for by X-HTTP-Method-Override, X-HTTP-Method or X-Method-Override, is among them. Left out: every method.
    /// Example: `[POST, PUT]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 32),
        inner(length(min = 1, max = 32)),
        extend("x-kubernetes-validations" = rule::methods())
    )]
    pub methods: Vec<String>,

    /// Paths, 1 to 32; one of them must match. Left out: every path. Example: `[{prefix: /api}, {exact: /login}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32))]
    pub paths: Vec<PathMatch>,
}

impl RequestMatch {
    /// True when every request matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.methods.is_empty() && self.paths.is_empty()
    }
}

/// One path, exact or by prefix: exactly one of the two. The query is never looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::path_match()))]
pub struct PathMatch {
    /// The whole path, at most 256 characters, upper and lower case being different; a slash at the end is ignored.
    /// Example: `/login`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::path()))]
    pub exact: Option<String>,

    /// The beginning of the path by whole segments, at most 256 characters: `/api` matches `/api` and `/api/users`, not
    /// `/apis`. `/` matches everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::path()))]
    pub prefix: Option<String>,
}
