//! A request as it is held against policies: what several of them look at is made when the first one asks, and once.

use std::borrow::Cow;
use std::cell::OnceCell;

use smallvec::SmallVec;

use crate::route_table::RequestView;
use crate::{host, query, readings};

/// The longest path that is read in every way if there is something odd in it, in bytes. What is longer would take
/// milliseconds, for a request that no application means.
const LONGEST_ODD: usize = 2 * 1024;

/// A request while it is held against policies.
pub(crate) struct Seen<'v, 'r> {
    pub(crate) view: &'v RequestView<'r>,
    paths: OnceCell<PathReadings<'r>>,
    host: OnceCell<Option<Cow<'r, str>>>,
    query: OnceCell<[Option<Parameters<'r>>; 2]>,
}

/// The names and values of a query.
pub(crate) type Parameters<'r> = Vec<(Cow<'r, [u8]>, Cow<'r, [u8]>)>;

/// What applications may take the path of a request for.
pub(crate) enum PathReadings<'r> {
    /// One of these.
    All {
        paths: SmallVec<[Cow<'r, [u8]>; 1]>,
        /// Whether they may have had a slash at their end.
        slash_at_end: bool,
    },
    /// It is too long and odd to tell: anything.
    Anything,
}

impl<'v, 'r> Seen<'v, 'r> {
    pub(crate) fn new(view: &'v RequestView<'r>) -> Self {
        Self { view, paths: OnceCell::new(), host: OnceCell::new(), query: OnceCell::new() }
    }

    pub(crate) fn paths(&self) -> &PathReadings<'r> {
        self.paths.get_or_init(|| {
            let path = self.view.target.path();
            let odd = readings::is_odd(path);
            if odd && path.len() > LONGEST_ODD {
                return PathReadings::Anything;
            }
            let slash_at_end = odd || (path.len() > 1 && path.ends_with('/'));
            readings::of(path).map_or(PathReadings::Anything, |paths| PathReadings::All { paths, slash_at_end })
        })
    }

    pub(crate) fn host(&self) -> Option<&str> {
        self.host.get_or_init(|| host::of(self.view)).as_deref()
    }

    /// The query, parted by `&`, and where there is a semicolon, also by that, as some applications do.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &Parameters<'r>> {
        let queries = self.query.get_or_init(|| {
            let query = self.view.target.query().unwrap_or_default();
            let by_both = || query.split(['&', ';']).filter(|pair| !pair.is_empty()).map(query::pair).collect();
            [Some(query::pairs(query).collect()), query.contains(';').then(by_both)]
        });
        queries.iter().flatten()
    }
}
