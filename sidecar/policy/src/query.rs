//! The parameters of a target's query, as forms write them (WHATWG URL, application/x-www-form-urlencoded): parted by `&`,
//! name and value by the first `=`, `+` a space, percent-decoded once.

use std::borrow::Cow;

use crate::readings::{self, Slash};

/// Each parameter in its order, name and value decoded; empty ones (`&&`) are left out. Nothing is allocated for what is
/// written plainly.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, [u8]>, Cow<'_, [u8]>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(pair)
}

/// One parameter, `name=value`, decoded; without `=` its value is empty.
pub(crate) fn pair(pair: &str) -> (Cow<'_, [u8]>, Cow<'_, [u8]>) {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    (decoded(name), decoded(value))
}

fn decoded(text: &str) -> Cow<'_, [u8]> {
    if !text.bytes().any(|b| matches!(b, b'%' | b'+')) {
        return Cow::Borrowed(text.as_bytes());
    }
    let spaced = text.replace('+', " ");
    Cow::Owned(readings::decoded(spaced.as_bytes(), Slash::Decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Vec<(String, String)> {
        let text = |bytes: Cow<'_, [u8]>| String::from_utf8_lossy(&bytes).into_owned();
        pairs(query).map(|(name, value)| (text(name), text(value))).collect()
    }

    fn same(query: &str, wanted: &[(&str, &str)]) {
        let wanted: Vec<_> = wanted.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        assert_eq!(read(query), wanted, "{query}");
    }

    #[test]
    fn parameters_are_decoded_once_and_keep_their_order() {
        same("a=1&b=2&a=3", &[("a", "1"), ("b", "2"), ("a", "3")]);
        same("q=a+b%2Bc%20d", &[("q", "a b+c d")]);
        same("q=%2541", &[("q", "%41")]);
        same("%61=1", &[("a", "1")]);
        same("a=b=c", &[("a", "b=c")]);
    }

    #[test]
    fn what_is_empty_is_no_parameter_and_what_is_no_escape_stays() {
        same("", &[]);
        same("&&a&", &[("a", "")]);
        same("=1", &[("", "1")]);
        same("a=%zz%4", &[("a", "%zz%4")]);
        same("a=1;b=2", &[("a", "1;b=2")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_apart() {
        let one: Vec<_> = pairs("a=%ff").map(|(_, value)| value.into_owned()).collect();
        let other: Vec<_> = pairs("a=%fe").map(|(_, value)| value.into_owned()).collect();
        assert_eq!((one, other), (vec![vec![0xff]], vec![vec![0xfe]]));
    }
}
