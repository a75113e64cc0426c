//! A header's value as a key: one value, or missing, or a reason to answer the request ourselves. An application behind
//! CGI or WSGI can't tell `x-tenant` from `x_tenant`, so a request that has both could be counted as one client and served
//! as another, and one that has only the other spelling would be counted as none.

use http::{HeaderMap, HeaderName};

use crate::one_value::{self, Unusable};

/// The value of header `name`, without the white space around it; `None` when it is absent or empty.
pub(crate) fn read<'r>(headers: &'r HeaderMap, name: &HeaderName) -> Result<Option<&'r [u8]>, Unusable> {
    // also where it comes alone: an application would read the key that is said to be missing here
    if headers.keys().any(|other| other != name && same_when_folded(other.as_str(), name.as_str())) {
        return Err(Unusable::Ambiguous);
    }
    one_value::of(headers.get_all(name).iter().map(|value| value.as_bytes().trim_ascii()))
}

/// True when the names are the same once `-` and `_` are.
pub(crate) fn same_when_folded(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let fold = |c: &u8| if *c == b'_' { b'-' } else { *c };
    a.len() == b.len() && a.iter().map(fold).eq(b.iter().map(fold))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::one_value::MAX_VALUE;

    fn read_from<'r>(headers: &'r [(&'static str, &'r str)]) -> Result<Option<String>, Unusable> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let value = read(&map, &HeaderName::from_static("x-tenant-id"))?;
        Ok(value.map(|v| String::from_utf8_lossy(v).into_owned()))
    }

    #[test]
    fn one_value_is_the_key_however_often_it_is_said() {
        assert_eq!(read_from(&[("x-tenant-id", " a ")]), Ok(Some("a".into())));
        assert_eq!(read_from(&[("x-tenant-id", "a"), ("x-tenant-id", "a ")]), Ok(Some("a".into())));
    }

    #[test]
    fn absent_and_empty_are_missing() {
        assert_eq!(read_from(&[]), Ok(None));
        assert_eq!(read_from(&[("x-tenant-id", "")]), Ok(None));
        assert_eq!(read_from(&[("x-tenant-id", " \t")]), Ok(None));
    }

    #[test]
    fn two_values_are_ambiguous() {
        assert_eq!(read_from(&[("x-tenant-id", "a"), ("x-tenant-id", "b")]), Err(Unusable::Ambiguous));
        assert_eq!(read_from(&[("x-tenant-id", ""), ("x-tenant-id", "b")]), Err(Unusable::Ambiguous));
    }

    #[test]
    fn another_spelling_is_ambiguous_even_with_one_value_or_alone() {
        for twin in ["x_tenant_id", "x_tenant-id", "x-tenant_id"] {
            assert_eq!(read_from(&[(twin, "a")]), Err(Unusable::Ambiguous), "{twin}");
            assert_eq!(read_from(&[(twin, "")]), Err(Unusable::Ambiguous), "{twin}");
            assert_eq!(read_from(&[("x-tenant-id", "a"), (twin, "a")]), Err(Unusable::Ambiguous), "{twin}");
        }
    }

    #[test]
    fn a_value_over_8_kib_is_refused_and_one_of_8_kib_is_not() {
        let long = "a".repeat(MAX_VALUE);
        assert_eq!(read_from(&[("x-tenant-id", &long)]), Ok(Some(long.clone())));
        assert_eq!(read_from(&[("x-tenant-id", &format!("{long}a"))]), Err(Unusable::TooLong));
    }
}
