//! Any text as a policy file: it is read and compiled, or refused with reasons that stand on one line each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_policy::{compile, read_policies};

fuzz_target!(|text: &str| {
    let faults = match read_policies(text) {
        Ok(entries) => entries.iter().filter_map(|entry| compile(entry).err()).collect(),
        Err(faults) => vec![faults],
    };
    for fault in faults.iter().flat_map(|faults| faults.iter()) {
        assert!(!fault.message.is_empty() && !fault.to_string().contains('\n'), "{fault:?}");
    }
});
