//! Which headers can be read.

use http::HeaderName;

use super::node::Node;
use crate::fault::Collector;
use crate::spec::text;

/// Headers that belong to one hop (RFC 9110 §7.6.1) and are gone when requests are counted.
const HOP_BY_HOP: [&str; 8] =
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings"];

/// The `name` of a header that is to be read; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<HeaderName> {
    let written: String = node.read("name")?;
    let Ok(name) = HeaderName::from_bytes(written.as_bytes()) else {
        faults.add(node.at("name"), text::HEADER_NAME);
        return None;
    };
    let unusable = match name.as_str() {
        "host" => "is not carried by HTTP/2, which has :authority instead; name another header",
        hop if HOP_BY_HOP.contains(&hop) => {
            "belongs to one connection and never reaches the application; name another header"
        }
        _ => return Some(name),
    };
    faults.add(node.at("name"), format!("{name} {unusable}"));
    None
}
