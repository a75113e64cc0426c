//! The two layouts: their scripts and their calls.

use weir_limiter::{Batch, decide_script};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One string a key: the layout in use.
    Strings,
    /// Fields of two hashes for each limit: `hashes.lua`.
    Hashes,
}

/// Bytes of a key that tell it from others of its limit.
pub(crate) const DIGEST: usize = 21;

impl Layout {
    pub(crate) const ALL: [Self; 2] = [Self::Strings, Self::Hashes];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Strings => "strings",
            Self::Hashes => "hashes",
        }
    }

    /// The script in use, or the same script with the other layout's part in place of `state.lua`.
    pub(crate) fn script(self) -> String {
        let script = decide_script();
        if self == Self::Strings {
            return script.to_owned();
        }
        let state = code(include_str!("../../src/state.lua"));
        assert_eq!(script.matches(&state).count(), 1, "state.lua is a part of the script");
        let shadow = "local given = ARGV\nlocal ARGV = { given[1], given[2], given[3] ~= '' and given[3] or nil }\n";
        shadow.to_owned()
            + &script.replace(&state, &format!("weir.given = given\n{}", code(include_str!("hashes.lua"))))
    }

    /// The call of a batch of which each key is the name of its limit and a digest.
    pub(crate) fn command(self, digest: &str, batch: &Batch, clock: Option<Vec<u8>>) -> redis::Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(digest);
        if self == Self::Strings {
            command.arg(batch.distinct_keys()).arg(batch.keys()).arg(batch.args()).arg(clock);
            return command;
        }
        let (mut limits, mut places, mut fields) = (Vec::<&[u8]>::new(), Vec::new(), Vec::new());
        for key in batch.keys() {
            let (limit, field) = key.split_at(key.len() - DIGEST);
            let place = limits.iter().position(|known| *known == limit).unwrap_or_else(|| {
                limits.push(limit);
                limits.len() - 1
            });
            places.extend_from_slice(&(place as u16 + 1).to_le_bytes());
            fields.push(field);
        }
        command.arg(limits.len() * 2);
        for limit in &limits {
            command.arg([limit, &b":a"[..]].concat()).arg([limit, &b":b"[..]].concat());
        }
        let places = if limits.len() == 1 { vec![] } else { places };
        command.arg(batch.args()).arg(clock.unwrap_or_default()).arg(places).arg(fields);
        command
    }
}

/// As the script has it: without comments and indentation.
fn code(file: &str) -> String {
    let lines = file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.map(|line| format!("{line}\n")).collect()
}
