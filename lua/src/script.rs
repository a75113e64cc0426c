//! The Lua scripts, put together from the files beside this one. Each part exists once, whichever scripts use it.

use std::sync::LazyLock;

/// The script that decides a [`Batch`](crate::Batch). Its SHA-1 is what `EVALSHA` is called with.
///
/// It has no `#!lua` line, which Redis 6.2 could not load.
pub fn decide_script() -> &'static str {
    static SCRIPT: LazyLock<String> = LazyLock::new(|| {
        let mut script = String::from(
            "local weir = { algorithms = {}, writers = {}, entries = {} }\n\
             weir.tags_used, weir.kinds_used = ARGV[1]:byte(1, 2)\n\
             weir.refunds = weir.kinds_used % 2 == 1\n\
             weir.coalesced = weir.kinds_used % 4 >= 2\n",
        );
        push_part(&mut script, "true", include_str!("clock.lua"));
        push_part(&mut script, "true", include_str!("state.lua"));
        // what only some calls use runs only in those: making its functions costs as much as a decision
        push_part(&mut script, &used(&[0]), include_str!("never.lua"));
        push_part(&mut script, &used(&[1]), include_str!("fixed_window.lua"));
        push_part(&mut script, &used(&[2, 3, 6]), include_str!("bucket.lua"));
        push_part(&mut script, &used(&[4]), include_str!("sliding_window.lua"));
        push_part(&mut script, &used(&[5]), include_str!("sliding_log.lua"));
        push_part(&mut script, "weir.refunds", include_str!("refund.lua"));
        push_part(&mut script, "weir.coalesced", include_str!("coalesced.lua"));
        push_code(&mut script, include_str!("decide.lua"));
        script
    });
    &SCRIPT
}

/// Whether a limit or a state of one of these tags is in the call: is the tag's bit set?
fn used(tags: &[u32]) -> String {
    let bits = tags.iter().map(|tag| format!("weir.tags_used % {} >= {}", 1_u32 << (tag + 1), 1_u32 << tag));
    bits.collect::<Vec<_>>().join(" or ")
}

/// A file in a scope of its own; what files share is in the table `weir`.
fn push_part(script: &mut String, condition: &str, file: &str) {
    script.push_str(&format!("if {condition} then\n"));
    push_code(script, file);
    script.push_str("end\n");
}

/// Comments and indentation stay behind; Redis keeps every script it was ever given.
fn push_code(script: &mut String, file: &str) {
    for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--")) {
        script.push_str(line);
        script.push('\n');
    }
}
