//! Which requests are meant, in the form that runs. Where a request can be read in more than one way there are two
//! questions: whether it may be meant, which decides for a limit, and whether it surely is, which decides for an exemption and
//! a tier. So no way of writing a request is a way around.
//!
//! A header that comes twice is no reason to refuse a request here, as it is where it is a key: many may (Accept, Forwarded),
//! and either question has an answer that gives nothing away.

use ipnet::IpNet;

use crate::client_address::Client;
use crate::field_match::{HeaderPattern, ParameterPattern};
use crate::host_match::HostPattern;
use crate::method_match;
use crate::path_match::PathPattern;
use crate::seen::Seen;

/// Conditions on a request; all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CompiledMatch {
    /// Upper-case; empty: every method.
    pub(crate) methods: Vec<String>,
    /// Empty: every host, and none.
    pub(crate) hosts: Vec<HostPattern>,
    /// Empty: every path.
    pub(crate) paths: Vec<PathPattern>,
    /// All must hold.
    pub(crate) headers: Vec<HeaderPattern>,
    /// All must hold.
    pub(crate) query: Vec<ParameterPattern>,
    /// Empty: every address.
    pub(crate) client_addresses: Vec<IpNet>,
}

impl CompiledMatch {
    /// True when some application may read the request so that it is meant.
    pub(crate) fn may_hold(&self, request: &Seen<'_, '_>, client: &Client<'_>) -> bool {
        let headers = request.view.headers;
        (self.methods.is_empty() || method_match::any_matches(&self.methods, request.view.method, headers))
            && (self.paths.is_empty() || PathPattern::any_matches(&self.paths, request.paths()))
            && self.headers.iter().all(|header| header.may_match(headers))
            && self.query.iter().all(|parameter| request.queries().any(|query| parameter.may_match(query)))
            // a request that names no host, as HTTP/1.0 has them, is for the one that the application likes
            && (self.hosts.is_empty() || request.host().is_none_or(|host| self.is_for_host(host)))
            && self.is_for_client(client)
    }

    /// True when every application reads the request so that it is meant.
    pub(crate) fn surely_holds(&self, request: &Seen<'_, '_>, client: &Client<'_>) -> bool {
        let headers = request.view.headers;
        (self.methods.is_empty() || method_match::all_match(&self.methods, request.view.method, headers))
            && (self.paths.is_empty() || PathPattern::all_match(&self.paths, request.paths()))
            && self.headers.iter().all(|header| header.surely_matches(headers))
            && self.query.iter().all(|parameter| request.queries().all(|query| parameter.surely_matches(query)))
            && (self.hosts.is_empty() || request.host().is_some_and(|host| self.is_for_host(host)))
            && self.is_for_client(client)
    }

    fn is_for_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host))
    }

    /// There is one way to read it.
    fn is_for_client(&self, client: &Client<'_>) -> bool {
        self.client_addresses.is_empty() || {
            let address = client.address();
            self.client_addresses.iter().any(|network| network.contains(&address))
        }
    }

    /// True when it reads a header of which `is` holds, besides those that reports of addresses and methods stand in.
    pub(crate) fn reads(&self, is: impl Fn(&str) -> bool) -> bool {
        self.headers.iter().any(|header| is(header.name.as_str()))
    }
}

#[cfg(test)]
mod tests;
