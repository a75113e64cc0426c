//! One path of a limit, in the form that runs: compared with a reading of the target, by whole segments.

use std::borrow::Cow;

use crate::readings;

/// A path to compare with. `path` is in the readings' form: decoded, `%2F` kept, no slash at the end (the root is empty).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    pub(crate) form: PathForm,
    path: Vec<u8>,
}

/// How the path is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathForm {
    Exact,
    Prefix,
}

impl PathPattern {
    /// Reads a path as policies write it. The error says what would be right.
    pub(crate) fn parse(form: PathForm, text: &str) -> Result<Self, &'static str> {
        let unfit = |c: char| matches!(c, '?' | '#') || c.is_whitespace() || c.is_control();
        if !text.starts_with('/') || text.contains(unfit) {
            return Err(crate::spec::text::PATH);
        }
        let whole_escape = |tail: &str| tail.len() >= 2 && tail.bytes().take(2).all(|b| b.is_ascii_hexdigit());
        if !text.split('%').skip(1).all(whole_escape) {
            return Err("must have two hexadecimal digits after each %; for a percent sign itself write %25");
        }
        let path = readings::without_slash_at_end(&readings::decoded(text.as_bytes(), readings::Slash::Kept)).to_vec();
        let mut segments = path.split(|b| *b == b'/').skip(1);
        if segments.any(|segment| matches!(segment, b"" | b"." | b"..")) {
            return Err("must hold no empty, . or .. segment: write the path that it leads to");
        }
        Ok(Self { form, path })
    }

    /// True when one reading of a target is this path or, for a prefix, lies below it.
    pub(crate) fn matches(&self, reading: &[u8]) -> bool {
        let below = self.form == PathForm::Prefix;
        reading.strip_prefix(self.path.as_slice()).is_some_and(|rest| rest.is_empty() || (below && rest[0] == b'/'))
    }

    /// True when any reading matches.
    pub(crate) fn matches_any(&self, readings: &[Cow<'_, [u8]>]) -> bool {
        readings.iter().any(|reading| self.matches(reading))
    }
}
