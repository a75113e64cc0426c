//! AdmissionReview v1, read and answered as raw JSON. Pure.

use serde::Deserialize;
use serde_json::{Value, json};

/// What the API server asks. Fields that nobody here reads are left where they are.
#[derive(Debug, Deserialize)]
pub(super) struct Review {
    #[serde(rename = "apiVersion")]
    pub(super) api_version: String,
    pub(super) request: Request,
}

#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) uid: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) name: String,
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) object: Value,
    /// What an UPDATE replaces.
    #[serde(default, rename = "oldObject")]
    pub(super) old_object: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct Kind {
    pub(super) kind: String,
}

/// What is answered.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Allow {
        /// JSON patch; empty for none.
        patch: json_patch::Patch,
        /// Shown to whoever applied the object.
        warnings: Vec<String>,
    },
    Deny {
        /// HTTP status of the user's own request.
        code: u16,
        /// Reason in the sense of Kubernetes' `Status`.
        reason: &'static str,
        message: String,
        /// Field and what is wrong with it.
        causes: Vec<(String, String)>,
    },
}

/// How an answer is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing to do, or all is well.
    Allowed,
    Injected,
    Skipped,
    Refused,
    /// The review couldn't be read or answered in time.
    Failed,
}

// === impl Review ===

impl Review {
    pub(super) fn read(body: &[u8], kind: &str) -> Result<Request, String> {
        let review: Self = serde_json::from_slice(body).map_err(|e| format!("no AdmissionReview: {e}"))?;
        if review.api_version != "admission.k8s.io/v1" {
            return Err(format!("AdmissionReview of {:?}; only admission.k8s.io/v1 is understood", review.api_version));
        }
        if review.request.kind.kind != kind {
            return Err(format!("a review of kind {:?} came to the path for {kind}", review.request.kind.kind));
        }
        if !review.request.object.is_object() {
            return Err("the review holds no object; only CREATE and UPDATE are understood".into());
        }
        Ok(review.request)
    }
}

// === impl Answer ===

impl Answer {
    pub(super) fn allow() -> Self {
        Self::Allow { patch: json_patch::Patch(Vec::new()), warnings: Vec::new() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::Deny { code: 422, reason: "Invalid", message: message.into(), causes: Vec::new() }
    }

    /// The failure of the review itself: no verdict about the object.
    pub(super) fn failed(code: u16, message: impl Into<String>) -> Self {
        let reason = if code == 504 { "Timeout" } else { "BadRequest" };
        Self::Deny { code, reason, message: message.into(), causes: Vec::new() }
    }

    /// The review that goes back.
    pub(super) fn to_review(&self, uid: &str) -> Value {
        let response = match self {
            Self::Allow { patch, warnings } => {
                let mut response = json!({"uid": uid, "allowed": true});
                if !patch.0.is_empty() {
                    response["patchType"] = json!("JSONPatch");
                    response["patch"] = json!(base64_of(&json!(patch).to_string()));
                }
                if !warnings.is_empty() {
                    response["warnings"] = json!(warnings.iter().map(|text| warning(text)).collect::<Vec<_>>());
                }
                response
            }
            Self::Deny { code, reason, message, causes } => {
                let mut status = json!({"status": "Failure", "code": code, "reason": reason, "message": message});
                if !causes.is_empty() {
                    let cause = |(field, message): &(String, String)| json!({"reason": "FieldValueInvalid", "field": field, "message": message});
                    status["details"] = json!({"causes": causes.iter().map(cause).collect::<Vec<_>>()});
                }
                json!({"uid": uid, "allowed": false, "status": status})
            }
        };
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }
}

/// The API server cuts off what is longer than 256 bytes in a warning and drops it all past 4 KiB, so each is made to fit.
fn warning(text: &str) -> String {
    const MOST: usize = 250;
    match text.char_indices().map(|(at, _)| at).take_while(|at| *at <= MOST).last() {
        Some(end) if text.len() > MOST => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

// === impl Outcome ===

impl Outcome {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Injected => "injected",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}
