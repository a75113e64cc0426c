//! One path of a match, in the form that runs: compared with a reading of the target, by whole segments or by a regular
//! expression.

use std::borrow::Cow;

use crate::pattern::{Expression, Text};
use crate::readings;
use crate::seen::PathReadings;

/// A path to compare with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PathPattern {
    /// In the readings' form: decoded, `%2F` kept, no slash at the end (the root is empty).
    Plain { form: PathForm, path: Text },
    /// The root is a slash here, and one at the end of others is seen.
    Regex(Expression),
}

/// How the path is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathForm {
    Exact,
    Prefix,
}

impl PathPattern {
    /// Reads a path as policies write it. The error says what would be right.
    pub(crate) fn parse(form: PathForm, text: &str, case_insensitive: bool) -> Result<Self, &'static str> {
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
        Ok(Self::Plain { form, path: Text::new(path, case_insensitive) })
    }

    /// What every path begins with that it matches, by whole segments; `None` where nothing is known of that.
    pub(crate) fn fixed_begin(&self) -> Option<&[u8]> {
        match self {
            Self::Plain { form: PathForm::Prefix, path } if path.bytes().is_empty() => None,
            Self::Plain { path, .. } if !path.is_folded() => Some(path.bytes()),
            Self::Plain { .. } | Self::Regex(_) => None,
        }
    }

    /// True when one of `patterns` matches some reading.
    pub(crate) fn any_matches(patterns: &[Self], readings: &PathReadings<'_>) -> bool {
        let PathReadings::All { paths, slash_at_end } = readings else { return true };
        paths.iter().any(|path| patterns.iter().any(|pattern| pattern.may_match(path, *slash_at_end)))
    }

    /// True when each reading is matched by one of `patterns`.
    pub(crate) fn all_match(patterns: &[Self], readings: &PathReadings<'_>) -> bool {
        let PathReadings::All { paths, slash_at_end } = readings else { return false };
        paths.iter().all(|path| patterns.iter().any(|pattern| pattern.surely_matches(path, *slash_at_end)))
    }

    /// True when a reading is this path or, for a prefix, lies below it; it may have had a slash at its end.
    pub(crate) fn may_match(&self, reading: &[u8], slash_at_end: bool) -> bool {
        match self {
            Self::Plain { form, path } => is_at_or_below(*form, path, reading),
            Self::Regex(expression) => {
                forms(reading, slash_at_end).into_iter().flatten().any(|path| expression.matches(&path))
            }
        }
    }

    fn surely_matches(&self, reading: &[u8], slash_at_end: bool) -> bool {
        match self {
            Self::Plain { form, path } => is_at_or_below(*form, path, reading),
            Self::Regex(expression) => {
                forms(reading, slash_at_end).into_iter().flatten().all(|path| expression.matches(&path))
            }
        }
    }
}

fn is_at_or_below(form: PathForm, path: &Text, reading: &[u8]) -> bool {
    let below = form == PathForm::Prefix;
    path.after(reading).is_some_and(|rest| rest.is_empty() || (below && rest[0] == b'/'))
}

/// A reading as expressions see it: without a slash at its end and, where it may have had one, with it.
fn forms(reading: &[u8], slash_at_end: bool) -> [Option<Cow<'_, [u8]>>; 2] {
    if reading.is_empty() {
        return [Some(Cow::Borrowed(b"/")), None];
    }
    [Some(Cow::Borrowed(reading)), slash_at_end.then(|| Cow::Owned([reading, b"/"].concat()))]
}
