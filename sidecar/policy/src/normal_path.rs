//! A target's path as a key: RFC 3986 §6 normal form. Letters that need no escape have none, other escapes are in upper
//! case, what may not stand in a path is escaped, `.` and `..` are followed and repeated slashes are one. A slash at the end
//! stays: with and without it are two paths. Not here: all that an application may take a path for ([`crate::readings`]).

use std::borrow::Cow;

use crate::readings;

/// The normal form of `path` (without the query). The asterisk form is `*`; a target without a path has the root.
pub(crate) fn of(path: &str) -> Cow<'_, [u8]> {
    let raw = path.as_bytes();
    if raw == b"*" || is_normal(raw) {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len() + 1);
    let escaped = normal_escapes(raw);
    let mut segments = escaped.strip_prefix(b"/").unwrap_or(&escaped).split(|b| *b == b'/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            b"" | b"." => {}
            b".." => out.truncate(out.iter().rposition(|b| *b == b'/').unwrap_or(0)),
            _ => {
                out.push(b'/');
                out.extend_from_slice(segment);
            }
        }
        if last && matches!(segment, b"" | b"." | b"..") {
            out.push(b'/');
        }
    }
    Cow::Owned(out)
}

/// True when there is nothing to do, which is nearly always.
fn is_normal(path: &[u8]) -> bool {
    path.starts_with(b"/")
        && path.iter().all(|b| stays(*b))
        && path.windows(2).all(|pair| pair[0] != b'/' || !matches!(pair[1], b'/' | b'.'))
}

fn normal_escapes(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = readings::escape(rest);
        let written = match escaped {
            Some((byte, _)) => is_unreserved(byte),
            None => stays(byte),
        };
        let (byte, after) = escaped.unwrap_or((byte, tail));
        rest = after;
        if written {
            out.push(byte);
        } else {
            out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}

/// What stands in a path as it is (RFC 3986 §3.3). A `%` that begins no escape does not: it is a percent sign that someone
/// forgot to escape.
fn stays(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&'()*+,;=:@/".contains(&byte)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'A' + value - 10 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normal(path: &str) -> String {
        String::from_utf8(of(path).into_owned()).unwrap()
    }

    #[test]
    fn one_path_has_one_form() {
        for (sent, form) in [
            ("/", "/"),
            ("", "/"),
            ("*", "*"),
            ("/a/b", "/a/b"),
            ("/a/b/", "/a/b/"),
            ("/%61%2D%7e", "/a-~"),
            ("/a%2fb%c3%a9", "/a%2Fb%C3%A9"),
            ("/a%21!", "/a%21!"),
            ("//a///b//", "/a/b/"),
            ("/a/./b/../c", "/a/c"),
            ("/a/%2E%2e/b", "/b"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/../../a", "/a"),
            ("/a//../b", "/b"),
            ("/.hidden/..x/...", "/.hidden/..x/..."),
            ("/a b|{c}\\\u{e9}", "/a%20b%7C%7Bc%7D%5C%C3%A9"),
            ("/100%", "/100%25"),
            ("/%zz%4", "/%25zz%254"),
            ("/%%34%31", "/%2541"),
            ("/%2541", "/%2541"),
            ("/A", "/A"),
            ("/a;v=1", "/a;v=1"),
        ] {
            assert_eq!(normal(sent), form, "{sent}");
        }
    }

    #[test]
    fn a_plain_path_costs_no_allocation() {
        assert!(matches!(of("/api/v1.2/things:x@y"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn the_normal_form_of_a_normal_form_is_itself(path in "/[/.%2eE5a41bA\u{e9} ~]{0,14}") {
            let once = normal(&path);
            prop_assert_eq!(normal(&once), once);
        }

        #[test]
        fn no_path_leads_above_the_root_or_has_empty_or_dot_segments(path in ".{0,20}") {
            prop_assume!(path != "*");
            let form = normal(&path);
            prop_assert!(form.starts_with('/'), "{}", form);
            let inner: Vec<&str> = form.split('/').skip(1).collect();
            let (last, inner) = inner.split_last().unwrap();
            prop_assert!(inner.iter().all(|s| !matches!(*s, "" | "." | "..")) && !matches!(*last, "." | ".."), "{}", form);
        }

        #[test]
        fn letters_may_be_escaped_without_making_another_path(path in "(/[a-c.~]{0,3}){1,4}", which in any::<u32>()) {
            let escape = |(i, c): (usize, char)| if c != '/' && which >> (i % 32) & 1 == 1 { format!("%{:02x}", c as u32) } else { c.to_string() };
            let escaped: String = path.chars().enumerate().map(escape).collect();
            prop_assert_eq!(normal(&escaped), normal(&path));
        }
    }
}
