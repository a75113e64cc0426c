//! The meaning of what clients are told.

use http::StatusCode;

use super::node::Node;
use crate::fault::Collector;
use crate::response::ResponseOptions;
use crate::spec::{LimitHeader, text};

/// Compiles `response`; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<ResponseOptions> {
    let default = ResponseOptions::default();
    let status = node.child("status").map_or(Some(default.status), |status| self::status(&status, faults));
    let headers = node.child("headers").map_or(Some(vec![LimitHeader::XRateLimit]), |list| headers(&list, faults));
    let (status, headers) = (status?, headers?);
    Some(ResponseOptions {
        x_rate_limit: headers.contains(&LimitHeader::XRateLimit),
        rate_limit: headers.contains(&LimitHeader::RateLimit),
        existing: node.read("existing").unwrap_or_default(),
        reset_format: node.read("resetFormat").unwrap_or_default(),
        retry_after_format: node.read("retryAfterFormat").unwrap_or_default(),
        status,
    })
}

fn status(node: &Node<'_>, faults: &mut Collector) -> Option<StatusCode> {
    let status = u16::try_from(node.value::<i64>()?).ok()?;
    if matches!(status, 401 | 407) {
        faults.add(node.path(), format!("{}, is {status}", text::STATUS));
        return None;
    }
    StatusCode::from_u16(status).ok()
}

fn headers(list: &Node<'_>, faults: &mut Collector) -> Option<Vec<LimitHeader>> {
    let headers: Vec<LimitHeader> = list.value()?;
    match headers[..] {
        [first, second] if first == second => {
            faults.add(list.path(), "must name each one once");
            None
        }
        _ => Some(headers),
    }
}
