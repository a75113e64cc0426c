//! Which limits could match a request, without looking at each of them: those whose paths or hosts are written out are found
//! by the request's own, in as many steps as it has segments and labels. So a request takes no longer where there are many
//! limits that are none of its business.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use smallvec::SmallVec;

use crate::host_match::HostPattern;
use crate::path_match::PathPattern;
use crate::request_match::CompiledMatch;
use crate::seen::{PathReadings, Seen};

/// Where a limit stands among all.
pub(crate) type Place = u32;

/// Each limit is in one of the three.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteIndex {
    /// By digests. Two paths may share one, since who is found is only one that could match.
    by_path: HashMap<u64, Vec<Place>, BuildHasherDefault<AsIs>>,
    /// Of the paths in `by_path`.
    longest: usize,
    by_host: HashMap<String, Vec<Place>>,
    /// Those that any request could be for, in order.
    rest: Vec<Place>,
}

impl RouteIndex {
    /// Adds a limit; places come in rising order.
    pub(crate) fn add(&mut self, place: Place, matches: &CompiledMatch) {
        let paths: Option<Vec<&[u8]>> = matches.paths.iter().map(PathPattern::fixed_begin).collect();
        if let Some(paths) = paths.filter(|paths| !paths.is_empty()) {
            for path in paths {
                self.longest = self.longest.max(path.len());
                let digest = path.iter().fold(BEGIN, |digest, byte| further(digest, *byte));
                put(self.by_path.entry(digest).or_default(), place);
            }
        } else if matches.hosts.is_empty() {
            self.rest.push(place);
        } else {
            for host in &matches.hosts {
                let (HostPattern::Exact(name) | HostPattern::Below(name)) = host;
                put(self.by_host.entry(name.clone()).or_default(), place);
            }
        }
    }

    /// The limits that could match, each once, in order.
    pub(crate) fn candidates(&self, request: &Seen<'_, '_>) -> impl Iterator<Item = Place> {
        let mut found = SmallVec::<[Place; 16]>::new();
        if !self.by_path.is_empty() {
            self.find_by_path(request.paths(), &mut found);
        }
        if !self.by_host.is_empty() {
            self.find_by_host(request.host(), &mut found);
        }
        found.sort_unstable();
        found.dedup();
        let (mut found, mut rest) = (found.into_iter().peekable(), self.rest.iter().copied().peekable());
        std::iter::from_fn(move || match (found.peek(), rest.peek()) {
            (Some(one), Some(other)) if one < other => found.next(),
            (_, Some(_)) => rest.next(),
            (_, None) => found.next(),
        })
    }

    /// By each path that a reading lies at or below.
    fn find_by_path(&self, readings: &PathReadings<'_>, found: &mut SmallVec<[Place; 16]>) {
        let PathReadings::All { paths, .. } = readings else {
            self.by_path.values().for_each(|places| found.extend_from_slice(places));
            return;
        };
        let mut put = |digest: u64| found.extend_from_slice(self.by_path.get(&digest).map_or(&[], Vec::as_slice));
        for path in paths {
            let near = &path[..path.len().min(self.longest)];
            let mut digest = BEGIN;
            for (at, byte) in near.iter().enumerate() {
                if *byte == b'/' && at > 0 {
                    put(digest);
                }
                digest = further(digest, *byte);
            }
            if path.get(near.len()).is_none_or(|next| *next == b'/') {
                put(digest);
            }
        }
    }

    /// By the host and each name that it is below; a request that names none may be for any.
    fn find_by_host(&self, host: Option<&str>, found: &mut SmallVec<[Place; 16]>) {
        if host.is_none() {
            self.by_host.values().for_each(|places| found.extend_from_slice(places));
        }
        let mut name = host;
        while let Some(this) = name {
            found.extend_from_slice(self.by_host.get(this).map_or(&[], Vec::as_slice));
            name = this.split_once('.').map(|(_, above)| above);
        }
    }
}

/// FNV-1a: a path's begins have their digests on the way to its own.
const BEGIN: u64 = 0xcbf2_9ce4_8422_2325;

fn further(digest: u64, byte: u8) -> u64 {
    (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// A digest is its own hash.
#[derive(Clone, Copy, Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |digest, byte| further(digest, *byte));
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn put(places: &mut Vec<Place>, place: Place) {
    if places.last() != Some(&place) {
        places.push(place);
    }
}

#[cfg(test)]
mod tests;
