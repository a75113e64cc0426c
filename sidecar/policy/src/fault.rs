//! What is wrong with a policy: each fault with its place and what would be right, all of them at once.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, such as `spec.limits[2].keys[0]`.
    pub path: String,
    /// What is wrong and what would be right, lower-case, without a full stop.
    pub message: String,
}

/// Everything that is wrong, faults of shape first: never empty, at most [`Faults::SHOWN`] kept, the rest counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    kept: Vec<Fault>,
    omitted: usize,
}

/// Gathers faults on the way through a document.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    kept: Vec<Fault>,
    omitted: usize,
}

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

// === impl Faults ===

impl Faults {
    /// How many faults are kept; a condition's message and a terminal have no room for more.
    pub const SHOWN: usize = 64;

    /// The faults.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.kept.iter()
    }

    /// How many faults there are, those included that are no longer kept.
    #[must_use]
    pub fn count(&self) -> usize {
        self.kept.len() + self.omitted
    }

    pub(crate) fn one(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kept: vec![Fault { path: path.into(), message: message.into() }], omitted: 0 }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.kept.iter().enumerate() {
            write!(f, "{}{fault}", if i == 0 { "" } else { "\n" })?;
        }
        if self.omitted > 0 {
            write!(f, "\nand {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

// === impl Collector ===

impl Collector {
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.kept.len() < Faults::SHOWN {
            self.kept.push(Fault { path: path.into(), message: message.into() });
        } else {
            self.omitted += 1;
        }
    }

    /// Adds all of another's.
    pub(crate) fn extend(&mut self, other: Self) {
        self.omitted += other.omitted;
        for fault in other.kept {
            self.add(fault.path, fault.message);
        }
    }

    /// True when a fault lies at `path` or inside it.
    pub(crate) fn touches(&self, path: &str) -> bool {
        self.kept.iter().any(|fault| match fault.path.strip_prefix(path) {
            Some(rest) => rest.is_empty() || rest.starts_with(['.', '[']),
            None => false,
        })
    }

    /// `value` if nothing was found, else everything that was.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Faults> {
        match value {
            Some(value) if self.kept.is_empty() => Ok(value),
            _ if self.kept.is_empty() => Err(Faults::one("", "can't be read")),
            _ => Err(Faults { kept: self.kept, omitted: self.omitted }),
        }
    }
}
