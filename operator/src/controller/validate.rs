//! Step 2, validate: each policy is compiled, with the code that admission and the sidecar use. No client. A policy that is
//! wrong is a value here, not an error.

use std::sync::Arc;

use weir_policy::{Faults, Policy};

use super::facts::PolicyFacts;
use super::memory::Memory;

/// A policy and what compiling it came to.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) policy: Arc<PolicyFacts>,
    pub(super) verdict: Arc<Result<Policy, Faults>>,
}

/// Compiles the policies, each generation once.
pub(super) fn validate(policies: &[Arc<PolicyFacts>], memory: &mut Memory) -> Vec<Checked> {
    let mut before = std::mem::take(&mut memory.compiled);
    let check = |policy: &Arc<PolicyFacts>| {
        let entry = &policy.entry;
        let known = before.remove(&entry.uid).filter(|(generation, _)| *generation == entry.generation);
        let verdict = known.map_or_else(|| Arc::new(weir_policy::compile(entry)), |(_, verdict)| verdict);
        memory.compiled.insert(entry.uid.clone(), (entry.generation, verdict.clone()));
        Checked { policy: policy.clone(), verdict }
    };
    policies.iter().map(check).collect()
}
