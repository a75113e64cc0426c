//! A cookie's value as a key, read as most applications read it: of all Cookie fields, parted by `;`, name and value by the
//! first `=` (RFC 6265 §5.4). Applications differ in how a value may be written (in quotes, with `%` escapes, with `\`
//! escapes in quotes), and a client that has one session could write it in many ways to be counted as many; so all of these
//! are read as what they stand for, also where the application would not.

use std::borrow::Cow;

use http::{HeaderMap, header};

use crate::one_value::{self, Unusable};
use crate::readings::{self, Slash};

/// The value of the cookie `name`; `None` when it is absent or empty. Two values are held against each other as they were
/// sent.
pub(crate) fn read<'r>(headers: &'r HeaderMap, name: &str) -> Result<Option<Cow<'r, [u8]>>, Unusable> {
    let fields = headers.get_all(header::COOKIE).iter();
    let pairs = fields.flat_map(|field| field.as_bytes().split(|b| *b == b';'));
    let values = pairs.filter_map(|pair| {
        let equals = pair.iter().position(|b| *b == b'=')?;
        (pair[..equals].trim_ascii() == name.as_bytes()).then(|| pair[equals + 1..].trim_ascii())
    });
    Ok(one_value::of(values)?.map(meant).filter(|value| !value.is_empty()))
}

/// What a value stands for.
fn meant(sent: &[u8]) -> Cow<'_, [u8]> {
    let bare = match sent {
        [b'"', quoted @ .., b'"'] if quoted.contains(&b'\\') => Cow::Owned(unescaped(quoted)),
        [b'"', quoted @ .., b'"'] => Cow::Borrowed(quoted),
        bare => Cow::Borrowed(bare),
    };
    if bare.contains(&b'%') { Cow::Owned(readings::decoded(&bare, Slash::Decoded)) } else { bare }
}

/// `quoted` without its `\` escapes: three octal digits are a byte, any other character is itself.
fn unescaped(quoted: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match (byte, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                after
            }
            (b'\\', [escaped, after @ ..]) => {
                out.push(*escaped);
                after
            }
            _ => {
                out.push(byte);
                tail
            }
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn session(fields: &[&str]) -> Result<Option<String>, Unusable> {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(header::COOKIE, HeaderValue::from_bytes(field.as_bytes()).unwrap());
        }
        let value = read(&headers, "session")?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    #[test]
    fn a_cookie_is_found_among_others_and_in_whichever_field() {
        let all: [&[&str]; 7] = [
            &["session=a"],
            &["x=1; session=a; y=2"],
            &["x=1;session=a;"],
            &["x=1", "session=a"],
            &["x=1;\t session = a "],
            &["session=a; session=a", "session=a"],
            &["session; =; ;; session=a"],
        ];
        for fields in all {
            assert_eq!(session(fields), Ok(Some("a".into())), "{fields:?}");
        }
        assert_eq!(session(&["session=a=b"]), Ok(Some("a=b".into())), "the first = parts");
        assert_eq!(session(&["session=a,b"]), Ok(Some("a,b".into())));
    }

    #[test]
    fn absent_and_empty_are_missing_and_case_makes_another_cookie() {
        let none: [&[&str]; 8] = [
            &[],
            &[""],
            &["x=session"],
            &["session"],
            &["session="],
            &["session=\"\""],
            &["Session=a; SESSION=b"],
            &["xsession=a; session2=b; x=session=c"],
        ];
        for fields in none {
            assert_eq!(session(fields), Ok(None), "{fields:?}");
        }
    }

    #[test]
    fn two_values_are_ambiguous_and_a_long_one_is_refused() {
        let two: [&[&str]; 4] = [
            &["session=a; session=b"],
            &["session=a", "session=b"],
            &["session=; session=a"],
            &["session=a; session=%61"],
        ];
        for fields in two {
            assert_eq!(session(fields), Err(Unusable::Ambiguous), "{fields:?}");
        }
        assert_eq!(session(&[&format!("session={}", "a".repeat(one_value::MAX_VALUE + 1))]), Err(Unusable::TooLong));
    }

    #[test]
    fn one_value_is_one_however_it_is_written() {
        for written in [
            "a b\u{e9}",
            "\"a b\u{e9}\"",
            "a%20b%c3%A9",
            "\"a%20b\u{e9}\"",
            r#""\a b\303\251""#,
            r#""\141\040b%C3\251""#,
        ] {
            assert_eq!(session(&[&format!("session={written}")]), Ok(Some("a b\u{e9}".into())), "{written}");
        }
        for itself in ["\"", "\"a", "a\"", "a\"b", "%", "%4", "%zz", "a+b", r"\141", "a\\"] {
            assert_eq!(session(&[&format!("session={itself}")]), Ok(Some(itself.into())), "{itself}");
        }
        assert_eq!(session(&["session=%2541"]), Ok(Some("%41".into())), "once");
    }

    proptest! {
        #[test]
        fn what_a_cookie_may_hold_is_its_value(value in "[!#-+\\--:<-\\[\\]-~]{1,30}") {
            prop_assume!(!value.contains('%'));
            let field = format!("a=1; session={value}; b=2");
            prop_assert_eq!(session(&[&field]), Ok(Some(value)));
        }
    }
}
