//! The readings of a target's path: what applications of different make may take one and the same path for. A limit
//! counts a request if any reading matches, so that no way of writing a path is a way around it.
//!
//! A reading is bytes: percent-decoded, without slashes at the end (the root is empty). It varies in how often it was
//! decoded, whether an encoded slash (`%2F`) and a backslash part segments, whether `;parameters` were dropped, whether
//! repeated slashes were merged and whether `.` and `..` were followed. A path with nothing odd in it, which is nearly every
//! one, has one reading and costs no allocation. Not here: the target that is forwarded, which stays as it was sent.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

/// What becomes of an encoded slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    /// `%2F` stays, in upper case.
    Kept,
    /// `%2F` becomes `/`.
    Decoded,
}

/// True when `path` has more than one reading, but for slashes at its end.
pub(crate) fn is_odd(path: &str) -> bool {
    let raw = path.as_bytes();
    raw.iter().any(|b| matches!(b, b'%' | b'\\' | b';'))
        || raw.windows(2).any(|pair| pair[0] == b'/' && matches!(pair[1], b'/' | b'.'))
}

/// How much is kept on the way to the readings of one path, in bytes, [`EACH`] more for each: what takes more is so odd that
/// no application means it, and would take milliseconds.
const MOST: usize = 32 * 1024;
const EACH: usize = 128;

/// Every reading of `path` (without the query), each once; `None` where there are too many to look at: it may be any path.
pub(crate) fn of(path: &str) -> Option<SmallVec<[Cow<'_, [u8]>; 1]>> {
    let raw = path.as_bytes();
    // the asterisk form, and the authority form that has no path
    if raw.is_empty() || raw == b"*" {
        return Some(smallvec![Cow::Borrowed(&b""[..])]);
    }
    if !is_odd(path) {
        return Some(smallvec![Cow::Borrowed(without_slash_at_end(raw))]);
    }
    let readings = Room(MOST).readings(raw)?;
    Some(readings.into_iter().map(Cow::Owned).collect())
}

/// What may still be kept, in bytes.
struct Room(usize);

impl Room {
    fn readings(&mut self, raw: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut sent = vec![raw.to_vec()];
        self.add(&mut sent, without_parameters(raw))?;
        // followed as sent, and what is decoded then is not looked at again
        for path in sent.clone() {
            let [_, _, followed, merged] = resolved(&path);
            self.add(&mut sent, Some(followed))?;
            self.add(&mut sent, Some(merged))?;
        }
        let mut decoded = Vec::new();
        for path in &sent {
            self.add_decodings(&mut decoded, path)?;
        }
        let mut segmented = Vec::new();
        for path in decoded {
            for slashes in [replaced(&path, b'\\', b'/'), Some(path)].into_iter().flatten() {
                self.add(&mut segmented, without_parameters(&slashes))?;
                self.add(&mut segmented, Some(slashes))?;
            }
        }
        let mut readings = Vec::new();
        for path in segmented {
            for reading in resolved(&path) {
                self.add(&mut readings, Some(reading))?;
            }
        }
        Some(readings)
    }

    /// Adds a path as sent, decoded once and decoded twice, with encoded slashes kept and decoded.
    fn add_decodings(&mut self, all: &mut Vec<Vec<u8>>, sent: &[u8]) -> Option<()> {
        self.add(all, Some(sent.to_vec()))?;
        if sent.contains(&b'%') {
            let once = decoded(sent, Slash::Decoded);
            self.add(all, Some(decoded(sent, Slash::Kept)))?;
            self.add(all, Some(decoded(&once, Slash::Kept)))?;
            self.add(all, Some(decoded(&once, Slash::Decoded)))?;
            self.add(all, Some(once))?;
        }
        Some(())
    }

    /// Adds a path that is not among them; `None` where there is no room for it.
    fn add(&mut self, all: &mut Vec<Vec<u8>>, path: Option<Vec<u8>>) -> Option<()> {
        if let Some(path) = path.filter(|path| !all.contains(path)) {
            self.0 = self.0.checked_sub(path.len() + EACH)?;
            all.push(path);
        }
        Some(())
    }
}

/// `path` percent-decoded once. What is no escape stays as it is.
pub(crate) fn decoded(path: &[u8], slash: Slash) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        match escape(rest) {
            Some((b'/', after)) if slash == Slash::Kept => {
                out.extend_from_slice(b"%2F");
                rest = after;
            }
            Some((value, after)) => {
                out.push(value);
                rest = after;
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    out
}

/// The byte of the escape that `text` begins with, and what comes after; `None` where it begins with none.
pub(crate) fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = text else { return None };
    hex(*high).zip(hex(*low)).map(|(high, low)| (high * 16 + low, after))
}

/// `path` without slashes at its end.
pub(crate) fn without_slash_at_end(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |last| last + 1);
    &path[..end]
}

/// `path` with each `from` replaced; `None` when there is none.
fn replaced(path: &[u8], from: u8, to: u8) -> Option<Vec<u8>> {
    path.contains(&from).then(|| path.iter().map(|b| if *b == from { to } else { *b }).collect())
}

/// `path` with each segment cut at its first `;`; `None` when there is none.
fn without_parameters(path: &[u8]) -> Option<Vec<u8>> {
    path.contains(&b';').then(|| {
        let mut cut = false;
        let keep = |byte: &u8| {
            cut = *byte != b'/' && (cut || *byte == b';');
            !cut
        };
        path.iter().copied().filter(keep).collect()
    })
}

/// `path` as it is, with repeated slashes merged, with `.` and `..` followed, and with both; none with slashes at its end.
fn resolved(path: &[u8]) -> [Vec<u8>; 4] {
    const WAYS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];
    let mut outs = [(); 4].map(|()| Vec::with_capacity(path.len() + 1));
    for segment in path.strip_prefix(b"/").unwrap_or(path).split(|b| *b == b'/') {
        for ((merge, follow), out) in WAYS.into_iter().zip(&mut outs) {
            match segment {
                b"" if merge => {}
                b"." if follow => {}
                b".." if follow => out.truncate(out.iter().rposition(|b| *b == b'/').unwrap_or(0)),
                _ => {
                    out.push(b'/');
                    out.extend_from_slice(segment);
                }
            }
        }
    }
    outs.map(|mut out| {
        out.truncate(without_slash_at_end(&out).len());
        out
    })
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests;
