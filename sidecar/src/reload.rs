//! From what lies on disk to what is in force, again at each change. The last good state stays whenever the new one can't
//! be taken: one bad policy keeps its own last version, an unreadable whole keeps everything.
pub mod known;
mod labels;
pub mod source;
pub mod status;
pub mod watch;

use crate::enforce::Enforcer;
use crate::metrics::{Metrics, ReloadResult};
use known::Known;
use source::{Reading, Source};
use status::{DocumentState, Status};
use std::collections::BTreeMap;
use std::sync::Arc;
use weir_policy::{PolicyDocument, PolicyEntry, read_policies};

/// Reads, compares, compiles and swaps.
#[derive(Debug)]
pub struct Reloader {
    source: Source,
    /// The one namespace that is enforced, or every policy's own.
    namespace: Option<String>,
    /// Labels that were given by hand and don't change.
    fixed_labels: Option<BTreeMap<String, String>>,
    enforcer: Arc<Enforcer>,
    metrics: Arc<Metrics>,
    last: Option<Reading>,
    known: Known,
    /// A document has been read, so one that is missing was there before.
    loaded: bool,
    labels: Option<BTreeMap<String, String>>,
    published: tokio::sync::watch::Sender<Arc<Status>>,
}

impl Reloader {
    /// Has read nothing yet; what it will have read is published to the receiver.
    #[must_use]
    pub fn new(
        source: Source,
        namespace: Option<String>,
        fixed_labels: Option<BTreeMap<String, String>>,
        enforcer: Arc<Enforcer>,
        metrics: Arc<Metrics>,
    ) -> (Self, tokio::sync::watch::Receiver<Arc<Status>>) {
        let (published, receiver) = tokio::sync::watch::channel(Arc::new(Status::default()));
        let (last, known, labels) = (None, Known::default(), fixed_labels.clone());
        let loaded = false;
        (Self { source, namespace, fixed_labels, enforcer, metrics, last, known, loaded, labels, published }, receiver)
    }

    /// Where it reads.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Looks at the disk and takes what changed. True when something did. Blocks for as long as reading and compiling take.
    pub fn reload(&mut self) -> bool {
        let reading = self.source.read();
        if self.last.as_ref() == Some(&reading) {
            return false;
        }
        let labels_error = self.take_labels(&reading.labels);
        let document = self.take_document(&reading.document);
        let status = Status::new(document, reading.revision.clone(), self.labels.clone(), labels_error, &self.known);
        self.last = Some(reading);
        let result = match &status.document {
            DocumentState::Loaded if status.rejected().next().is_some() || status.labels_error.is_some() => {
                ReloadResult::Partial
            }
            DocumentState::Loaded | DocumentState::NoDocument => ReloadResult::Applied,
            DocumentState::Kept(_) => ReloadResult::Kept,
        };
        self.enforcer.swap(self.known.selected(self.labels.as_ref()));
        self.metrics.reloaded(result);
        status.log(&self.published.borrow());
        // only now, so that what is reported is in force
        self.published.send_replace(Arc::new(status));
        true
    }

    fn take_labels(&mut self, text: &Result<Option<String>, String>) -> Option<String> {
        if self.fixed_labels.is_some() {
            return None;
        }
        let read = text.clone().and_then(|text| text.map(|text| labels::parse(&text)).transpose());
        match read {
            Ok(Some(labels)) => self.labels = Some(labels),
            // a file that went away says nothing about the pod's labels
            Ok(None) => {}
            Err(reason) => return Some(format!("labels: {reason}")),
        }
        None
    }

    fn take_document(&mut self, text: &Result<Option<String>, String>) -> DocumentState {
        let entries = match text {
            Ok(Some(text)) => self.parse(text),
            Ok(None) if !self.loaded => return DocumentState::NoDocument,
            Ok(None) => Err("is not there any more".to_owned()),
            Err(reason) => Err(reason.clone()),
        };
        match entries {
            Ok(entries) => {
                self.known = self.known.next(entries, self.namespace.as_deref());
                self.loaded = true;
                DocumentState::Loaded
            }
            Err(reason) => DocumentState::Kept(reason),
        }
    }

    fn parse(&self, text: &str) -> Result<Vec<PolicyEntry>, String> {
        match self.source {
            // an editor may empty a file before it writes; whoever wants no limits leaves the sidecar out
            Source::File { .. } if text.trim().is_empty() => Err("is empty".to_owned()),
            Source::File { .. } => read_policies(text).map_err(|faults| faults.to_string()),
            Source::Folder { .. } => {
                PolicyDocument::from_json(text).map(|document| document.policies).map_err(|faults| faults.to_string())
            }
        }
    }
}
