//! The Lua scripts, put together from the files beside this one. Each part exists once, whichever scripts use it.

use std::sync::LazyLock;

/// The script that decides a [`Batch`](crate::Batch). Its SHA-1 is what `EVALSHA` is called with.
///
/// It has no `#!lua` line, which Redis 6.2 could not load.
pub fn decide_script() -> &'static str {
    static SCRIPT: LazyLock<String> = LazyLock::new(|| {
        assemble(&[
            include_str!("clock.lua"),
            include_str!("state.lua"),
            include_str!("never.lua"),
            include_str!("fixed_window.lua"),
            include_str!("token_bucket.lua"),
            include_str!("decide.lua"),
        ])
    });
    &SCRIPT
}

/// One script of several files: each in its own scope, what they share in the table `weir`. Comments and indentation
/// stay behind; Redis keeps every script it was ever given.
fn assemble(files: &[&str]) -> String {
    let mut script = String::from("local weir = {}\n");
    for (i, file) in files.iter().enumerate() {
        // the last one returns the reply, which must end its block
        let last = i + 1 == files.len();
        script.push_str(if last { "" } else { "do\n" });
        for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--")) {
            script.push_str(line);
            script.push('\n');
        }
        script.push_str(if last { "" } else { "end\n" });
    }
    script
}
