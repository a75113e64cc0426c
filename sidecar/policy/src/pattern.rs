//! What a text is compared with: another text, or a regular expression.

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

/// The most memory that one expression is compiled to, in bytes.
const COMPILED: usize = 256 * 1024;

/// What the value of a header or of a parameter is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// This text.
    Exact(Text),
    /// This expression, anywhere.
    Regex(Expression),
    /// Any.
    Present,
}

/// A text, and whether the case of A to Z matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    bytes: Vec<u8>,
    folded: bool,
}

/// A regular expression over bytes, of which `.` is any, a line's end too: no byte that a client puts in is a way past `.*`. It
/// takes time in proportion to the text, whatever the text is.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    regex: Regex,
    folded: bool,
}

impl Pattern {
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        match self {
            Self::Exact(text) => text.is(value),
            Self::Regex(expression) => expression.matches(value),
            Self::Present => true,
        }
    }
}

impl Text {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>, case_insensitive: bool) -> Self {
        Self { bytes: bytes.into(), folded: case_insensitive }
    }

    pub(crate) fn is(&self, value: &[u8]) -> bool {
        if self.folded { self.bytes.eq_ignore_ascii_case(value) } else { self.bytes == value }
    }

    /// What follows where `value` begins with this.
    pub(crate) fn after<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        let (begin, rest) = value.split_at_checked(self.bytes.len())?;
        self.is(begin).then_some(rest)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn is_folded(&self) -> bool {
        self.folded
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes))
    }
}

impl Expression {
    /// Reads an expression. The error says what is wrong with it.
    pub(crate) fn parse(text: &str, case_insensitive: bool) -> Result<Self, String> {
        let built = RegexBuilder::new(text)
            .unicode(false)
            .dot_matches_new_line(true)
            .case_insensitive(case_insensitive)
            .size_limit(COMPILED)
            .dfa_size_limit(COMPILED)
            .build();
        built.map(|regex| Self { regex, folded: case_insensitive }).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                format!("is too large: it takes more than {} KiB; count less in it, such as {{1,10}}", COMPILED / 1024)
            }
            // the expression with a mark under what is wrong, then what it is
            error => {
                let told = error.to_string();
                let why = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
                format!("is no regular expression: {why}")
            }
        })
    }

    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        self.regex.is_match(value)
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        (self.regex.as_str(), self.folded) == (other.regex.as_str(), other.folded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_matches_anywhere_unless_it_is_tied() {
        let matches = |pattern: &str, value: &str| Expression::parse(pattern, false).unwrap().matches(value.as_bytes());
        assert!(matches("b+", "abbc"));
        assert!(!matches("^b+$", "abbc"));
        assert!(!matches("ABBC", "abbc"));
        assert!(Expression::parse("ABBC", true).unwrap().matches(b"abbc"));
        assert_ne!(Expression::parse("a", true), Expression::parse("a", false));
        // bytes that are no text, or end a line
        let any = Expression::parse("^.$", false).unwrap();
        assert!((0..=255).all(|byte| any.matches(&[byte])));
        assert!(!matches("^a$", "a\n"));
    }

    #[test]
    fn what_is_wrong_with_an_expression_is_told_in_a_line() {
        let wrong = |pattern: &str| Expression::parse(pattern, false).unwrap_err();
        assert_eq!(wrong("a("), "is no regular expression: unclosed group");
        assert_eq!(
            wrong("(?=a)"),
            "is no regular expression: look-around, including look-ahead and look-behind, is not supported"
        );
        assert!(wrong("(a{1,1000}){1,1000}").starts_with("is too large: it takes more than 256 KiB"));
        assert!(wrong("\\pL").starts_with("is no regular expression: Unicode"), "{}", wrong("\\pL"));
    }

    #[test]
    fn a_text_is_itself_or_itself_in_another_case() {
        assert!(Text::new("pro", false).is(b"pro") && !Text::new("pro", false).is(b"Pro"));
        assert!(Text::new("pro", true).is(b"PRO") && !Text::new("pro", true).is(b"prof"));
        assert_eq!(Text::new("/API", true).after(b"/api/users"), Some(&b"/users"[..]));
        assert_eq!(Text::new("/API", true).after(b"/a"), None);
    }
}
