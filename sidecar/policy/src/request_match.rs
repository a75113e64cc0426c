//! Which requests a limit counts, in the form that runs, and the request as it is looked at: its readings are made when
//! the first limit asks, and once.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::path_match::PathPattern;
use crate::route_table::RequestView;
use crate::{method_match, readings};

/// Conditions on a request; all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CompiledMatch {
    /// Upper-case; empty: every method.
    pub(crate) methods: Vec<String>,
    /// Empty: every path.
    pub(crate) paths: Vec<PathPattern>,
}

/// A request while it is held against the limits.
pub(crate) struct Seen<'v, 'r> {
    pub(crate) view: &'v RequestView<'r>,
    readings: OnceCell<Vec<Cow<'r, [u8]>>>,
}

impl CompiledMatch {
    /// True when the limit counts the request.
    pub(crate) fn holds(&self, request: &Seen<'_, '_>) -> bool {
        (self.methods.is_empty() || method_match::matches(&self.methods, request.view.method, request.view.headers))
            && (self.paths.is_empty() || self.paths.iter().any(|path| path.matches_any(request.readings())))
    }
}

impl<'v, 'r> Seen<'v, 'r> {
    pub(crate) fn new(view: &'v RequestView<'r>) -> Self {
        Self { view, readings: OnceCell::new() }
    }

    fn readings(&self) -> &[Cow<'r, [u8]>] {
        self.readings.get_or_init(|| readings::of(self.view.target.path()))
    }
}
