//! `weir-sidecar redirect`: the rules that bring a pod's incoming connections to the sidecar, written once by an init
//! container. Only prerouting: what starts inside the pod, `kubectl port-forward` included, goes straight to the application.
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

/// Why the rules could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RedirectError {
    /// The sidecar's own port is among the captured ones: its connections would go round in circles.
    #[error("--ports names {0}, which is also --to; capture only the application's ports")]
    OwnPort(u16),
    /// The program `nft` is not there.
    #[error("the program nft can't be run ({0}); install nftables, or use the image that brings it")]
    NoNft(std::io::Error),
    /// It ran and said no.
    #[error("nft refused the rules: {reason}{hint}")]
    Refused {
        /// What nft said.
        reason: String,
        /// What would help, where that is known.
        hint: &'static str,
    },
    /// It ended before it had read the rules.
    #[error("nft did not take the rules: {0}")]
    Broken(std::io::Error),
}

/// The rules as nft reads them: one transaction that may run again, for IPv4 and IPv6.
///
/// # Errors
/// When `to` is among `ports`.
pub fn rules(ports: &[u16], to: u16) -> Result<String, RedirectError> {
    let ports: BTreeSet<u16> = ports.iter().copied().collect();
    if ports.contains(&to) {
        return Err(RedirectError::OwnPort(to));
    }
    let list = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    // the first two lines make the third start from nothing, whatever an earlier run left
    Ok(format!(
        "table inet weir {{}}\n\
         delete table inet weir\n\
         table inet weir {{\n\
         \tchain prerouting {{\n\
         \t\ttype nat hook prerouting priority dstnat; policy accept;\n\
         \t\ttcp dport {{ {list} }} redirect to :{to}\n\
         \t}}\n\
         }}\n"
    ))
}

/// Gives the rules to nft.
///
/// # Errors
/// When nft is missing or refuses them; then nothing has changed.
pub fn apply(rules: &str) -> Result<(), RedirectError> {
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(RedirectError::NoNft)?;
    // dropped at the end of the statement, which closes nft's input
    let written = nft.stdin.take().map_or(Ok(()), |mut input| input.write_all(rules.as_bytes()));
    let output = nft.wait_with_output().map_err(RedirectError::Broken)?;
    if output.status.success() {
        return written.map_err(RedirectError::Broken);
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    let hint = if reason.contains("Operation not permitted") {
        "; this needs the capability NET_ADMIN (uid 0 in the init container), or named-port capture instead"
    } else if reason.contains("not supported") || reason.contains("No such file") {
        "; this kernel may lack nf_tables with nat, use named-port capture there"
    } else {
        ""
    };
    Err(RedirectError::Refused { reason, hint })
}
