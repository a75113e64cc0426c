//! The one task behind a Redis store: it owns the connection and the breaker, and groups decisions.
//!
//! What arrives while a call is in flight goes out as the next one; there is no timer and no queue for later:
//! while there is no connection, what waits is refused at its deadline, and while the breaker is open at once.
//! A call whose reply is lost is never sent again.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Cmd, Script, Value, cmd};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};

use crate::breaker::{Breaker, BreakerState};
use crate::clock;
use crate::connection::Connection;
use crate::credentials::{Source, Stamp, Target};
use crate::gate::{Gate, StoreStatus};
use crate::job::{Group, Job, Reply, Request};
use crate::observer::Observer;
use crate::reason::{Reason, StoreError};
use crate::waits::Waits;

/// How often the credentials are looked at, and how long to wait while there is nothing to connect to.
const LOOK: Duration = Duration::from_secs(1);
/// How often in one call the script is loaded: more than once if it is flushed again at once.
const LOADS: usize = 3;
/// Jobs taken from the channel at a time.
const AT_ONCE: usize = 4096;

/// The state of the task.
pub(crate) struct Worker {
    jobs: mpsc::Receiver<Job>,
    source: Source,
    gate: Arc<Gate>,
    observer: Arc<dyn Observer>,
    waits: Waits,
    breaker: Breaker,
    script: Script,
    script_text: &'static str,
    /// Decisions that wait for the next call.
    waiting: VecDeque<Request>,
    /// Other commands that wait, before decisions since they are few.
    commands: VecDeque<(Cmd, Reply<Value>)>,
    taken: Vec<Job>,
    group: Group,
    chance: RandomState,
}

/// Every handle of the store is gone.
struct Abandoned;

impl Worker {
    pub(crate) fn new(
        jobs: mpsc::Receiver<Job>,
        source: Source,
        gate: Arc<Gate>,
        observer: Arc<dyn Observer>,
        waits: Waits,
        script_text: &'static str,
    ) -> Self {
        Self {
            jobs,
            source,
            gate,
            observer,
            waits,
            breaker: Breaker::new(),
            script: Script::new(script_text),
            script_text,
            waiting: VecDeque::new(),
            commands: VecDeque::new(),
            taken: Vec::new(),
            group: Group::default(),
            chance: RandomState::new(),
        }
    }

    /// Runs until every handle of the store is gone.
    pub(crate) async fn run(mut self) {
        while let Ok((connection, target)) = self.connect().await {
            if let Err(Abandoned) = self.serve(connection, target).await {
                return;
            }
        }
    }

    // --- without a connection

    /// Tries until it has a connection.
    async fn connect(&mut self) -> Result<(Connection, (Target, Stamp)), Abandoned> {
        loop {
            if let Some(at) = self.breaker.probe_at() {
                self.refuse_until(at).await?;
                self.breaker.probe_started();
                self.publish_breaker();
            }
            let stamp = self.source.stamp();
            match self.source.read() {
                Ok(Some(target)) => {
                    self.gate.set_install_key(target.install_key);
                    match self.attempt(&target).await? {
                        Ok(connection) => {
                            self.breaker.probe_answered();
                            self.publish_breaker();
                            if self.gate.set_status(StoreStatus::Connected) {
                                tracing::info!(store = %target.endpoint, "store connected");
                            }
                            return Ok((connection, (target, stamp)));
                        }
                        Err(error) => self.fail(&error),
                    }
                }
                Ok(None) => {
                    self.set_failing(&StoreError::new(Reason::NotConfigured, "there is no URL yet"));
                    self.refuse_until(clock::monotonic() + LOOK).await?;
                }
                Err(invalid) => {
                    let error = StoreError::new(Reason::Credentials, invalid.to_string());
                    self.fail(&error);
                    self.breaker_open_at_once();
                }
            }
        }
    }

    /// One attempt to connect. Decisions that arrive meanwhile wait for it, but not beyond their deadline; once
    /// one had to be given up, all are refused at once.
    async fn attempt(&mut self, target: &Target) -> Result<Result<Connection, StoreError>, Abandoned> {
        let late = StoreError::new(Reason::Timeout, format!("{}: no connection in time", target.endpoint));
        let mut attempt = std::pin::pin!(timeout(self.waits.connect, Connection::open(target)));
        loop {
            let deadline = self.waiting.front().map(|request| request.deadline);
            let give_up = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                result = &mut attempt => return Ok(result.unwrap_or(Err(late))),
                job = self.jobs.recv() => match job {
                    None => return Err(Abandoned),
                    Some(job) if self.breaker.state() == BreakerState::Closed => self.admit(job),
                    Some(job) => job.refuse(&Reason::BreakerOpen.into()),
                },
                () = give_up => {
                    self.set_failing(&late);
                    self.breaker_open_at_once();
                    self.breaker.probe_started();
                    self.publish_breaker();
                    self.refuse_waiting(&late);
                }
            }
        }
    }

    async fn refuse_until(&mut self, at: Instant) -> Result<(), Abandoned> {
        let error = StoreError::from(self.gate.shut().unwrap_or(Reason::BreakerOpen));
        let mut wake = std::pin::pin!(sleep_until(at.into()));
        loop {
            tokio::select! {
                () = &mut wake => return Ok(()),
                job = self.jobs.recv() => match job {
                    None => return Err(Abandoned),
                    Some(job) => job.refuse(&error),
                },
            }
        }
    }

    // --- with a connection

    /// Serves until the connection is of no more use or the credentials have changed.
    async fn serve(&mut self, mut connection: Connection, used: (Target, Stamp)) -> Result<(), Abandoned> {
        let (target, mut stamp) = used;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // whether the server has answered a real call on this connection
        let mut proven = false;
        loop {
            if self.waiting.is_empty() && self.commands.is_empty() {
                let mut taken = std::mem::take(&mut self.taken);
                let idle = tokio::select! {
                    biased;
                    count = self.jobs.recv_many(&mut taken, AT_ONCE) => {
                        if count == 0 { return Err(Abandoned) }
                        Idle::Job
                    }
                    () = connection.hung_up() => Idle::HungUp,
                    _ = look.tick() => Idle::Look,
                };
                taken.drain(..).for_each(|job| self.admit(job));
                self.taken = taken;
                match idle {
                    Idle::Job => {}
                    Idle::HungUp => {
                        if !proven {
                            self.fail(&StoreError::new(Reason::Unreachable, "the server closed the connection"));
                        }
                        return Ok(());
                    }
                    Idle::Look => {
                        if self.source_changed(&target, &mut stamp) {
                            return Ok(());
                        }
                        continue;
                    }
                }
            }
            if let Some((command, reply)) = self.commands.pop_front() {
                let answer = self.call(&mut connection, &command, 0).await;
                let failed = answer.as_ref().err().cloned();
                let _ = reply.send(answer);
                if self.broken(failed, &mut connection, &mut proven) {
                    return Ok(());
                }
            }
            if self.group.fill(&mut self.waiting, clock::monotonic()) {
                let answer = self.evaluate(&mut connection).await;
                let failed = self.group.settle(answer).err();
                if self.broken(failed, &mut connection, &mut proven) {
                    return Ok(());
                }
            }
            self.take_what_arrived();
            // only an idle worker waits for the tick above; a busy one must look as well
            if std::future::poll_fn(|context| std::task::Poll::Ready(look.poll_tick(context).is_ready())).await
                && self.source_changed(&target, &mut stamp)
            {
                return Ok(());
            }
        }
    }

    /// The script's answer. NOSCRIPT proves that it did not run, so it is loaded and sent again.
    async fn evaluate(&self, connection: &mut Connection) -> Result<Value, StoreError> {
        let command = self.group.command(self.script.get_hash());
        let call = async {
            for _ in 0..LOADS {
                match connection.ask(&command).await {
                    Err(error) if error.kind() == Reason::Noscript => {
                        connection.ask(cmd("SCRIPT").arg("LOAD").arg(self.script_text)).await?;
                    }
                    answer => return answer,
                }
            }
            connection.ask(&command).await
        };
        self.bounded(call, self.group.len()).await
    }

    async fn call(&self, connection: &mut Connection, command: &Cmd, decisions: usize) -> Result<Value, StoreError> {
        self.bounded(connection.ask(command), decisions).await
    }

    async fn bounded(
        &self,
        call: impl Future<Output = Result<Value, StoreError>>,
        decisions: usize,
    ) -> Result<Value, StoreError> {
        let start = clock::monotonic();
        let answer = timeout(self.waits.call, call).await.unwrap_or_else(|_| Err(Reason::Timeout.into()));
        let took = clock::monotonic().saturating_duration_since(start);
        self.observer.call(decisions, took, answer.as_ref().err().map(StoreError::kind));
        answer
    }

    /// Judges a call; tells whether the connection must go.
    fn broken(&mut self, failed: Option<StoreError>, connection: &mut Connection, proven: &mut bool) -> bool {
        match failed {
            None => {
                *proven = true;
                self.breaker.answered();
                self.gate.set_status(StoreStatus::Connected);
                false
            }
            Some(error) if connection.is_closed() || wants_another_connection(error.kind()) => {
                self.fail(&error);
                true
            }
            Some(error) => {
                // the server answers, and at once: no waits to save, and the next call may well pass
                *proven = true;
                self.breaker.answered();
                self.set_failing(&error);
                false
            }
        }
    }

    fn source_changed(&self, target: &Target, stamp: &mut Stamp) -> bool {
        let now = self.source.stamp();
        if now == *stamp {
            return false;
        }
        *stamp = now;
        // a Secret that is gone or faulty leaves a working connection alone
        let changed = matches!(self.source.read(), Ok(Some(read)) if read != *target);
        if changed {
            tracing::info!("store credentials changed: connecting again");
        }
        changed
    }

    // --- jobs

    fn admit(&mut self, job: Job) {
        match job {
            Job::Decide(request) => self.waiting.push_back(request),
            Job::Command { command, reply } => self.commands.push_back((command, reply)),
        }
    }

    fn take_what_arrived(&mut self) {
        // what already waits counts: a full queue is not made longer
        for _ in self.waiting.len()..AT_ONCE {
            match self.jobs.try_recv() {
                Ok(job) => self.admit(job),
                Err(_) => return,
            }
        }
    }

    fn refuse_waiting(&mut self, error: &StoreError) {
        for request in self.waiting.drain(..) {
            Job::Decide(request).refuse(error);
        }
        for (command, reply) in self.commands.drain(..) {
            Job::Command { command, reply }.refuse(error);
        }
    }

    // --- failures

    fn fail(&mut self, error: &StoreError) {
        self.set_failing(error);
        self.breaker.failed(clock::monotonic(), self.chance());
        self.publish_breaker();
        if self.breaker.state() == BreakerState::Open {
            self.refuse_waiting(error);
        }
    }

    fn breaker_open_at_once(&mut self) {
        if self.breaker.probe_at().is_none() {
            self.breaker.open(clock::monotonic(), self.chance());
            self.publish_breaker();
        }
    }

    fn set_failing(&self, error: &StoreError) {
        if self.gate.set_status(StoreStatus::Failing(error.kind())) {
            tracing::warn!(reason = error.reason(), "{error}");
        }
    }

    fn publish_breaker(&self) {
        let state = self.breaker.state();
        if self.gate.breaker() != state {
            self.gate.set_breaker(state);
            self.observer.breaker(state);
        }
    }

    /// A random number in 0..1: jitter needs no better one.
    fn chance(&self) -> f64 {
        let now = clock::monotonic();
        (self.chance.hash_one(now) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Why an idle worker woke up.
enum Idle {
    Job,
    HungUp,
    Look,
}

/// Whether another connection may lead to a server, or a user, that decides.
fn wants_another_connection(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Timeout
            | Reason::Unreachable
            | Reason::Readonly
            | Reason::Loading
            | Reason::Masterdown
            | Reason::Clusterdown
            | Reason::Noauth
            | Reason::Wrongpass
    )
}
