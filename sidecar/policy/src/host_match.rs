//! One host of a match, in the form that runs.

/// A host, or all names below one. Lower-case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostPattern {
    Exact(String),
    /// Without the dot before it.
    Below(String),
}

impl HostPattern {
    /// Reads a host as policies write it; `None` where it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (below, name) = text.strip_prefix("*.").map_or((false, text), |name| (true, name));
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        if !name.split('.').all(is_label) {
            return None;
        }
        let name = name.to_ascii_lowercase();
        Some(if below { Self::Below(name) } else { Self::Exact(name) })
    }

    /// True when `host`, in its normal form, is meant.
    pub(crate) fn matches(&self, host: &str) -> bool {
        match self {
            Self::Exact(name) => host == name,
            Self::Below(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|labels| labels.len() > 1 && labels.ends_with('.'))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, host: &str) -> bool {
        HostPattern::parse(pattern).unwrap().matches(host)
    }

    #[test]
    fn a_host_is_itself_and_a_star_is_every_name_below() {
        assert!(matches("Shop.Example", "shop.example"));
        assert!(!matches("shop.example", "a.shop.example"));
        assert!(matches("*.shop.example", "a.shop.example"));
        assert!(matches("*.shop.example", "a.b.shop.example"));
        for other in ["shop.example", ".shop.example", "workshop.example", "ashop.example", "a.shop.example.org"] {
            assert!(!matches("*.shop.example", other), "{other}");
        }
        assert!(matches("10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn what_is_no_host_is_none() {
        for text in
            ["", "*", "*.", "a..b", "a.b.", "a:80", "a b", "http://a", "a/*", "a.*.b", "*a.b", "[::1]", "\u{e9}.fr"]
        {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
        assert_eq!(HostPattern::parse(&"a".repeat(64)), None);
    }
}
