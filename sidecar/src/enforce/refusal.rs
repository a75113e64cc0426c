//! The answers of a sidecar that refuses: 429, 400, 503, each with a body after RFC 9457.
use super::numbers::Refusing;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use weir_policy::Rejection;

/// Says that the answer is the sidecar's own and of which kind.
pub const WEIR_ERROR: HeaderName = HeaderName::from_static("weir-error");

/// The problem type that IANA registered for quotas.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// RFC 9457 §3.1, in the order a person reads it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Problem {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violated_policies: Vec<String>,
}

/// 429 for the first of `refusing`, naming all of them; there is at least one.
#[must_use]
pub(super) fn limited(refusing: &[Refusing<'_>]) -> Response<Bytes> {
    let Some(reported) = refusing.first() else { return store_failed() };
    let policy = &reported.check.policy.id;
    let what_helps = match reported.retry_after() {
        Some(seconds) => format!("retry in {seconds} s"),
        None => "this limit never lets such a request pass".to_owned(),
    };
    let mut response = answer(
        StatusCode::TOO_MANY_REQUESTS,
        HeaderValue::from_static("limited"),
        Problem {
            r#type: QUOTA_EXCEEDED,
            title: "Request cannot be satisfied as assigned quota has been exceeded",
            status: 429,
            detail: format!("{}/{}/{}: {what_helps}", policy.namespace, policy.name, reported.check.limit.name),
            violated_policies: refusing.iter().map(|each| each.name()).collect(),
        },
    );
    reported.numbers().write(response.headers_mut());
    if let Some(seconds) = reported.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// 400 or 431 for a request that can't be counted; the body says which header would have to be how.
#[must_use]
pub(super) fn malformed(rejection: &Rejection<'_>) -> Response<Bytes> {
    let (status, id) = (rejection.reason.status(), &rejection.policy.id);
    answer(
        status,
        HeaderValue::from_static("malformed"),
        Problem {
            r#type: "about:blank",
            title: status.canonical_reason().unwrap_or("Bad Request"),
            status: status.as_u16(),
            detail: format!("{}/{}/{}: {}", id.namespace, id.name, rejection.limit.name, rejection.reason),
            violated_policies: Vec::new(),
        },
    )
}

/// 503: the store did not decide, and a policy wants no request to pass then.
#[must_use]
pub(super) fn store_failed() -> Response<Bytes> {
    answer(
        StatusCode::SERVICE_UNAVAILABLE,
        HeaderValue::from_static("store"),
        Problem {
            r#type: "about:blank",
            title: "Service Unavailable",
            status: 503,
            detail: "the store of the rate limits does not answer; try again".to_owned(),
            violated_policies: Vec::new(),
        },
    )
}

fn answer(status: StatusCode, error: HeaderValue, problem: Problem) -> Response<Bytes> {
    // strings, numbers and lists always have a JSON form
    let mut body = serde_json::to_vec(&problem).unwrap_or_default();
    // for who reads it in a terminal
    body.push(b'\n');
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let length = HeaderValue::from(response.body().len());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CONTENT_LENGTH, length);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(WEIR_ERROR, error);
    response
}
