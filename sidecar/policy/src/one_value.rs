//! A source that comes several times has one value, none, or can't be a key: an application that takes the last of two
//! would be asked for by one client and counted by another's key.

/// The longest value that is read, in bytes.
pub(crate) const MAX_VALUE: usize = 8 * 1024;

/// Why what was sent can't be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Two different values, or another spelling.
    Ambiguous,
    /// Longer than [`MAX_VALUE`].
    TooLong,
}

/// The one value of `values`; `None` when there is none, or it is empty.
pub(crate) fn of<V: AsRef<[u8]>>(mut values: impl Iterator<Item = V>) -> Result<Option<V>, Unusable> {
    let Some(first) = values.next() else { return Ok(None) };
    if values.any(|other| other.as_ref() != first.as_ref()) {
        return Err(Unusable::Ambiguous);
    }
    match first.as_ref().len() {
        0 => Ok(None),
        1..=MAX_VALUE => Ok(Some(first)),
        _ => Err(Unusable::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_twice_is_one_and_two_are_ambiguous_even_if_one_is_empty() {
        let read = |values: &[&'static str]| of(values.iter().copied());
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[""]), Ok(None));
        assert_eq!(read(&["", ""]), Ok(None));
        assert_eq!(read(&["a"]), Ok(Some("a")));
        assert_eq!(read(&["a", "a"]), Ok(Some("a")));
        for two in [["a", "b"], ["", "a"], ["a", ""]] {
            assert_eq!(read(&two), Err(Unusable::Ambiguous), "{two:?}");
        }
    }

    #[test]
    fn a_value_over_8_kib_is_refused_and_one_of_8_kib_is_not() {
        let long = vec![b'a'; MAX_VALUE + 1];
        assert_eq!(of([&long[1..]].into_iter()), Ok(Some(&long[1..])));
        assert_eq!(of([&long[..]].into_iter()), Err(Unusable::TooLong));
    }
}
