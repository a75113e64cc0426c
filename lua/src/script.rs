//! The Lua scripts, put together from the files beside this one. Each part exists once, whichever scripts use it.

use std::sync::LazyLock;

/// The script that decides a [`Batch`](crate::Batch). Its SHA-1 is what `EVALSHA` is called with.
///
/// It has no `#!lua` line, which Redis 6.2 could not load.
pub fn decide_script() -> &'static str {
    static SCRIPT: LazyLock<String> = LazyLock::new(|| {
        assemble(
            &[include_str!("clock.lua"), include_str!("state.lua")],
            &[
                (&[0], include_str!("never.lua")),
                (&[1], include_str!("fixed_window.lua")),
                (&[2, 3, 6], include_str!("bucket.lua")),
                (&[4], include_str!("sliding_window.lua")),
                (&[5], include_str!("sliding_log.lua")),
            ],
            include_str!("decide.lua"),
        )
    });
    &SCRIPT
}

/// One script of several files: each in its own scope, what they share in the table `weir`. The files of the algorithms,
/// each with its tags, run only in a call that has such a limit: making their functions costs as much as a decision.
/// Comments and indentation stay behind; Redis keeps every script it was ever given.
fn assemble(first: &[&str], algorithms: &[(&[u32], &str)], last: &str) -> String {
    let mut script = String::from("local weir = { algorithms = {}, writers = {}, tags_used = ARGV[1]:byte() }\n");
    for file in first {
        script.push_str("do\n");
        push_code(&mut script, file);
        script.push_str("end\n");
    }
    for (tags, file) in algorithms {
        // is the tag's bit set?
        let used: Vec<String> =
            tags.iter().map(|tag| format!("weir.tags_used % {} >= {}", 1_u32 << (tag + 1), 1_u32 << tag)).collect();
        script.push_str(&format!("if {} then\n", used.join(" or ")));
        push_code(&mut script, file);
        script.push_str("end\n");
    }
    push_code(&mut script, last);
    script
}

fn push_code(script: &mut String, file: &str) {
    for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--")) {
        script.push_str(line);
        script.push('\n');
    }
}
