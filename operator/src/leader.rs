//! Who leads: one replica holds the Lease, renews it, and gives it back when it stops. The decisions are pure
//! ([`election`]); this file carries them out. Has a client.

mod election;

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::timeout_at;
use tracing::{info, warn};

use crate::clock;
use election::{DURATION, Election, Seen, Step};

/// Giving the lease back must not hold up the end of the process for longer.
const RELEASE_WITHIN: Duration = Duration::from_secs(5);

/// Which lease, and under which name.
#[derive(Clone, Debug)]
pub(crate) struct LeaseSettings {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// `<pod>_<random>`: a pod that starts again is somebody else.
    pub(crate) identity: String,
}

/// The right to lead, as its holder sees it: it ends at a time, not when somebody says so. A process that was stopped for
/// a while and goes on has lost it, whatever it heard last.
#[derive(Clone, Debug)]
pub(crate) struct Lead(watch::Receiver<Option<Instant>>);

/// The other end of a [`Lead`].
#[derive(Debug)]
pub(crate) struct LeadSender(watch::Sender<Option<Instant>>);

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
enum LeaseError {
    #[error("{what} the lease: {source}")]
    Api { what: &'static str, source: Box<kube::Error> },
    #[error("the API server did not answer about the lease in time")]
    Timeout,
}

/// Takes part in elections until `stop` resolves, and says through `leading` until when this replica leads: never longer than
/// others wait before they take over, whatever the API server does. In the end the lease is given back.
pub(crate) async fn run(client: Client, settings: LeaseSettings, leading: LeadSender, stop: impl Future<Output = ()>) {
    let leases: Api<Lease> = Api::namespaced(client, &settings.namespace);
    let mut election = Election::new(&settings.identity);
    let mut stop = std::pin::pin!(stop);
    loop {
        let began = clock::instant();
        let until = election.ask_until(began);
        let turn = async {
            timeout_at(until.into(), turn(&leases, &settings, &mut election)).await.unwrap_or(Err(LeaseError::Timeout))
        };
        let result = tokio::select! {
            () = &mut stop => break,
            result = turn => result,
        };
        if let Err(error) = result {
            warn!(%error, "election");
        }
        let now = clock::instant();
        let until = election.leads_until().filter(|_| election.leads(now));
        if leading.0.send_replace(until).is_some() != until.is_some() {
            info!(leads = until.is_some(), identity = %settings.identity, "leadership changed");
        }
        tokio::select! {
            () = &mut stop => break,
            () = tokio::time::sleep(election.pause(now)) => {}
        }
    }
    let led = leading.0.send_replace(None);
    if led.is_some()
        && let Err(error) = release(&leases, &settings).await
    {
        warn!(%error, "the lease was not given back, another replica waits until it ends");
    }
}

async fn turn(leases: &Api<Lease>, settings: &LeaseSettings, election: &mut Election) -> Result<(), LeaseError> {
    let failed = |what| move |source| LeaseError::Api { what, source: Box::new(source) };
    let found = leases.get_opt(&settings.name).await.map_err(failed("read"))?;
    // Before the request: the right to lead counts from when it was asked for.
    let now = clock::instant();
    let seen = found.as_ref().map(seen);
    let written = match election.decide(seen.as_ref(), now) {
        Step::Wait => return Ok(()),
        Step::Create => leases.create(&PostParams::default(), &lease(settings, None, 0)).await,
        Step::Take => {
            let transitions = found.as_ref().and_then(|lease| lease.spec.as_ref()?.lease_transitions).unwrap_or(0);
            leases.replace(&settings.name, &PostParams::default(), &lease(settings, found, transitions + 1)).await
        }
        Step::Renew => {
            let mut renewed = found.unwrap_or_default();
            let spec = renewed.spec.get_or_insert_default();
            spec.renew_time = Some(MicroTime(clock::now()));
            spec.lease_duration_seconds = Some(DURATION.as_secs() as i32);
            leases.replace(&settings.name, &PostParams::default(), &renewed).await
        }
    };
    match written {
        Ok(_) => {
            election.won(now);
            Ok(())
        }
        // Somebody was faster: see who, next time.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(failed("write")(error)),
    }
}

/// Gives the lease back, so that another replica need not wait for its end.
async fn release(leases: &Api<Lease>, settings: &LeaseSettings) -> Result<(), LeaseError> {
    let failed = |what| move |source| LeaseError::Api { what, source: Box::new(source) };
    let work = async {
        let Some(mut lease) = leases.get_opt(&settings.name).await.map_err(failed("read"))? else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&settings.identity) {
            return Ok(());
        }
        spec.holder_identity = None;
        leases.replace(&settings.name, &PostParams::default(), &lease).await.map_err(failed("give back"))?;
        info!("gave the lease back");
        Ok(())
    };
    tokio::time::timeout(RELEASE_WITHIN, work).await.unwrap_or(Err(LeaseError::Timeout))
}

fn seen(lease: &Lease) -> Seen {
    let spec = lease.spec.clone().unwrap_or_default();
    Seen {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        duration: Duration::from_secs(spec.lease_duration_seconds.and_then(|s| u64::try_from(s).ok()).unwrap_or(0)),
    }
}

fn lease(settings: &LeaseSettings, found: Option<Lease>, transitions: i32) -> Lease {
    let now = MicroTime(clock::now());
    let metadata = found.map(|lease| lease.metadata).unwrap_or_else(|| ObjectMeta {
        name: Some(settings.name.clone()),
        namespace: Some(settings.namespace.clone()),
        labels: Some([("app.kubernetes.io/part-of".to_owned(), "weir".to_owned())].into()),
        ..ObjectMeta::default()
    });
    let spec = LeaseSpec {
        holder_identity: Some(settings.identity.clone()),
        lease_duration_seconds: Some(DURATION.as_secs() as i32),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    };
    Lease { metadata, spec: Some(spec) }
}

// === impl Lead ===

impl Lead {
    /// A right that nobody has yet.
    pub(crate) fn none_yet() -> (LeadSender, Self) {
        let (sender, receiver) = watch::channel(None);
        (LeadSender(sender), Self(receiver))
    }

    /// A right that holds so long, for tests.
    #[cfg(test)]
    pub(crate) fn held_for(length: Duration) -> (LeadSender, Self) {
        let (sender, lead) = Self::none_yet();
        sender.0.send_replace(Some(clock::instant() + length));
        (sender, lead)
    }

    /// Whether this replica leads now.
    pub(crate) fn is_held(&self) -> bool {
        self.0.borrow().is_some_and(|until| clock::instant() < until)
    }

    /// Waits until this replica leads; false if the election is over.
    pub(crate) async fn gained(&mut self) -> bool {
        self.0.wait_for(|until| until.is_some_and(|until| clock::instant() < until)).await.is_ok()
    }

    /// Waits until this replica no longer leads.
    pub(crate) async fn lost(&mut self) {
        loop {
            let Some(until) = *self.0.borrow_and_update() else { return };
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {
                    if !self.is_held() {
                        return;
                    }
                }
                // An election that is over has deposed everybody.
                changed = self.0.changed() => if changed.is_err() { return },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lead_ends_at_its_time_though_nobody_says_so() {
        let (sender, mut lead) = Lead::none_yet();
        assert!(!lead.is_held());
        let until = clock::instant() + Duration::from_millis(50);
        sender.0.send_replace(Some(until));
        assert!(lead.gained().await && lead.is_held());
        lead.lost().await;
        assert!(clock::instant() >= until && !lead.is_held());
    }

    #[tokio::test]
    async fn a_renewed_lead_goes_on_and_a_withdrawn_one_ends_at_once() {
        let (sender, mut lead) = Lead::none_yet();
        let far = clock::instant() + Duration::from_secs(3600);
        sender.0.send_replace(Some(clock::instant() + Duration::from_secs(1800)));
        sender.0.send_replace(Some(far));
        assert!(lead.gained().await);
        sender.0.send_replace(None);
        lead.lost().await;
        assert!(clock::instant() < far);
    }
}
