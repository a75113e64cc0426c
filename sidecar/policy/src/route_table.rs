//! What a request is held against: all limits of all policies that are for this pod. Looking up decides nothing about
//! counts; it says which limits match and which count each of them means.

use std::fmt;
use std::net::IpAddr;
use std::ptr;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use smallvec::SmallVec;
use weir_limiter::Limit;

use crate::client_address::Client;
use crate::header_key::same_when_folded;
use crate::identity::Identity;
use crate::key::Reading;
use crate::method_match;
use crate::one_value::{MAX_VALUE, Unusable};
use crate::policy::{Enforcement, Policy, PolicyLimit};
use crate::route_index::{Place, RouteIndex};
use crate::seen::Seen;
use crate::source::Source;

/// The policies that run, all at once replaced by another table when they change.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    policies: Vec<Arc<Policy>>,
    /// Where each limit is: of which policy, and which of its limits.
    limits: Vec<(usize, usize)>,
    /// Over `limits`.
    index: RouteIndex,
}

/// What is looked at of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'r> {
    /// The method as sent.
    pub method: &'r Method,
    /// The target as sent.
    pub target: &'r Uri,
    /// The headers, those of the hop already removed.
    pub headers: &'r HeaderMap,
    /// Whether a body follows.
    pub has_body: bool,
    /// The address of the peer that opened the connection.
    pub peer: IpAddr,
}

/// What the table says about a request.
#[derive(Debug, Default)]
pub struct Lookup<'t> {
    /// The enforced limits that count it; empty: nothing keeps it back.
    pub checks: Checks<'t>,
    /// The limits that only count it, if it is admitted.
    pub shadows: Vec<LimitCheck<'t>>,
    /// What such limits can't count and, were they enforced, would have answered.
    pub shadow_rejections: Vec<Rejection<'t>>,
    /// Set when the request is to be answered without counting; then nothing else but `notes` means anything.
    pub rejected: Option<Rejection<'t>>,
    /// What metrics want to know besides.
    pub notes: Vec<Note<'t>>,
}

/// The limits that count a request: nearly always few.
pub type Checks<'t> = SmallVec<[LimitCheck<'t>; 4]>;

/// One limit that counts the request, and the count it means.
#[derive(Clone, Debug)]
pub struct LimitCheck<'t> {
    /// The policy.
    pub policy: &'t Policy,
    /// The limit of it.
    pub limit: &'t PolicyLimit,
    /// Algorithm, quota and capacity for this request: those of the tier that it is in, or the limit's own.
    pub applied: Limit,
    /// The count: policy name, limit name, algorithm, tier and the values of the keys, no two of which ever give the same bytes.
    /// Not the namespace, which the store's key has.
    pub identity: Identity,
    /// What this request costs; 0 only where the limit says so of every request.
    pub cost: u64,
}

/// A request that can't be counted and must not pass.
#[derive(Clone, Copy, Debug)]
pub struct Rejection<'t> {
    /// The policy.
    pub policy: &'t Policy,
    /// The limit of it.
    pub limit: &'t PolicyLimit,
    /// Why.
    pub reason: RejectionReason<'t>,
}

/// Why a request can't be counted. Displayed, it is a sentence for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason<'t> {
    /// The source is absent or empty, and the limit says Deny.
    MissingKey(Source<'t>),
    /// The source, of a key or a cost, has two different values, or, a header, comes in another spelling (`x_tenant` for
    /// `x-tenant`).
    AmbiguousKey(Source<'t>),
    /// The value of the source, of a key or a cost, is longer than 8 KiB.
    KeyTooLong(Source<'t>),
}

/// Something about one limit that metrics count.
#[derive(Clone, Copy, Debug)]
pub struct Note<'t> {
    /// The policy.
    pub policy: &'t Policy,
    /// The limit of it.
    pub limit: &'t PolicyLimit,
    /// What.
    pub kind: NoteKind,
}

/// What metrics count besides decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// A key was missing, and something stands for it.
    MissingKey,
    /// A key was missing, and the limit does not count the request.
    Skipped,
    /// The policy exempts the request.
    Exempt,
}

// === impl RouteTable ===

impl RouteTable {
    /// A table of these policies. Their order does not matter.
    #[must_use]
    pub fn new(mut policies: Vec<Arc<Policy>>) -> Self {
        policies.sort_by(|a, b| (&a.id.namespace, &a.id.name).cmp(&(&b.id.namespace, &b.id.name)));
        let (mut limits, mut index) = (Vec::new(), RouteIndex::default());
        for (i, policy) in policies.iter().enumerate() {
            for (j, limit) in policy.limits.iter().enumerate() {
                // there is no memory for 2^32 limits
                index.add(u32::try_from(limits.len()).unwrap_or(u32::MAX), &limit.matches);
                limits.push((i, j));
            }
        }
        Self { policies, limits, index }
    }

    /// The policies, ordered by namespace and name.
    #[must_use]
    pub fn policies(&self) -> &[Arc<Policy>] {
        &self.policies
    }

    /// Holds a request against every limit that could match. Where paths and keys are written plainly
    /// and few limits match, which is nearly always, it costs no allocation.
    #[must_use]
    pub fn lookup<'t>(&'t self, request: &RequestView<'_>) -> Lookup<'t> {
        let seen = Seen::new(request);
        let mut lookup = Lookup::default();
        let mut asked: Option<(&Policy, Client<'_>, Option<bool>)> = None;
        for (policy, limit) in self.index.candidates(&seen).filter_map(|place| self.at(place)) {
            let (_, client, exempt) = match asked {
                Some(ref mut asked) if ptr::eq(asked.0, policy) => asked,
                _ => asked.insert((policy, Client::new(&policy.client_address, request), None)),
            };
            if !limit.matches.may_hold(&seen, client) {
                continue;
            }
            if *exempt.get_or_insert_with(|| policy.exempts(&seen, client)) {
                lookup.notes.push(Note { policy, limit, kind: NoteKind::Exempt });
                continue;
            }
            lookup.add(policy, limit, &seen, client);
            if lookup.rejected.is_some() {
                break;
            }
        }
        lookup
    }

    /// True when some policy reads this header, in either of its spellings: a client must not have it taken away by calling it
    /// one of the hop (RFC 9110 §7.6.1).
    #[must_use]
    pub fn reads(&self, name: &HeaderName) -> bool {
        let folded = |own: &str| same_when_folded(own, name.as_str());
        method_match::is_override(name) || self.policies.iter().any(|policy| policy.reads(folded))
    }

    fn at(&self, place: Place) -> Option<(&Policy, &PolicyLimit)> {
        let (policy, limit) = *self.limits.get(place as usize)?;
        let policy = self.policies.get(policy)?;
        Some((policy, policy.limits.get(limit)?))
    }
}

// === impl Lookup ===

impl<'t> Lookup<'t> {
    /// Adds what a limit that matches says about the request.
    fn add(&mut self, policy: &'t Policy, limit: &'t PolicyLimit, seen: &Seen<'_, '_>, client: &Client<'_>) {
        let request = seen.view;
        let mut identity = Identity::new(&policy.id.name, &limit.name, limit.limit.algorithm().name());
        let tier = limit.tiers.iter().find(|tier| tier.matches.surely_holds(seen, client));
        if let Some(tier) = tier {
            identity.tier(&tier.name);
        }
        let mut missing = false;
        for key in &limit.keys {
            let reason = match key.read(request, client, limit.on_missing_key) {
                Reading::Present(value) => {
                    identity.key(value);
                    continue;
                }
                Reading::Replaced(value) => {
                    identity.key(value);
                    missing = true;
                    continue;
                }
                Reading::Skipped => {
                    self.notes.push(Note { policy, limit, kind: NoteKind::Skipped });
                    return;
                }
                Reading::Denied(source) => RejectionReason::MissingKey(source),
                Reading::Unusable(source, why) => RejectionReason::unusable(source, why),
            };
            self.reject(Rejection { policy, limit, reason });
            return;
        }
        let applied = tier.map_or(limit.limit, |tier| tier.limit);
        let cost = match limit.cost.of(request, applied.capacity()) {
            Ok(cost) => cost,
            Err((source, why)) => {
                self.reject(Rejection { policy, limit, reason: RejectionReason::unusable(source, why) });
                return;
            }
        };
        if missing {
            self.notes.push(Note { policy, limit, kind: NoteKind::MissingKey });
        }
        let check = LimitCheck { policy, limit, applied, identity, cost };
        match limit.enforcement {
            Enforcement::Enforce => self.checks.push(check),
            Enforcement::Shadow => self.shadows.push(check),
        }
    }

    fn reject(&mut self, rejection: Rejection<'t>) {
        match rejection.limit.enforcement {
            Enforcement::Enforce => self.rejected = Some(rejection),
            Enforcement::Shadow => self.shadow_rejections.push(rejection),
        }
    }
}

// === impl RejectionReason ===

impl<'t> RejectionReason<'t> {
    fn unusable(source: Source<'t>, why: Unusable) -> Self {
        match why {
            Unusable::Ambiguous => Self::AmbiguousKey(source),
            Unusable::TooLong => Self::KeyTooLong(source),
        }
    }

    /// The status of the answer: 400, or 431 (RFC 6585 §5) for a value that is too long.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MissingKey(_) | Self::AmbiguousKey(_) => StatusCode::BAD_REQUEST,
            Self::KeyTooLong(_) => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }
}

impl fmt::Display for RejectionReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingKey(source) => write!(f, "{source} is missing; send it with a value"),
            Self::AmbiguousKey(source @ Source::Header(name)) => {
                write!(f, "{source} has more than one value or another spelling; send it once, as {name}")
            }
            Self::AmbiguousKey(source) => write!(f, "{source} has more than one value; send it once"),
            Self::KeyTooLong(source) => write!(f, "{source} is longer than {MAX_VALUE} bytes; send a shorter value"),
        }
    }
}

#[cfg(test)]
mod tests;
