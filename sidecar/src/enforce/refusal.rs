//! The answers of a sidecar that refuses: 429, 400, 503, each with a body after RFC 9457.
use super::numbers::Refusing;
use super::told::{Moment, Told, unix_seconds, whole_seconds};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use std::time::{Duration, UNIX_EPOCH};
use weir_policy::{LimitCheck, Rejection, RetryAfterFormat};

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

/// For the first of `refusing`, as its policy has it (429 if it says nothing), naming all of them; there is at least one.
/// `checks` are all limits that the request was held against.
#[must_use]
pub(super) fn limited(refusing: &[Refusing<'_>], checks: &[LimitCheck<'_>], now: Moment) -> Response<Bytes> {
    let Some(reported) = refusing.first() else { return store_failed() };
    let (policy, options) = (&reported.check.policy.id, reported.check.policy.response);
    let what_helps = match reported.retry_after() {
        Some(wait) => format!("retry in {} s", whole_seconds(wait)),
        None => "this limit never lets such a request pass".to_owned(),
    };
    let mut response = answer(
        options.status,
        HeaderValue::from_static("limited"),
        Problem {
            r#type: QUOTA_EXCEEDED,
            title: "Request cannot be satisfied as assigned quota has been exceeded",
            status: options.status.as_u16(),
            detail: format!("{}/{}/{}: {what_helps}", policy.namespace, policy.name, reported.check.limit.name),
            violated_policies: refusing.iter().map(|each| each.name()).collect(),
        },
    );
    let headers = response.headers_mut();
    if let Some(told) = Told::new(reported.check, reported.standing(), checks, now.instant) {
        told.apply(headers, now);
    }
    if let Some(wait) = reported.retry_after() {
        headers.insert(RETRY_AFTER, retry_after(options.retry_after_format, wait, now));
    }
    response
}

/// RFC 9110 §10.2.3.
fn retry_after(format: RetryAfterFormat, wait: Duration, now: Moment) -> HeaderValue {
    match format {
        RetryAfterFormat::DelaySeconds => HeaderValue::from(whole_seconds(wait)),
        RetryAfterFormat::HttpDate => {
            // the years 1970 to 9999 have a date: a wait is at most ten years
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_seconds(now.date, wait)));
            HeaderValue::try_from(date).unwrap_or_else(|_| HeaderValue::from(whole_seconds(wait)))
        }
    }
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
