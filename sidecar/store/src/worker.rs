//! The one task behind a Redis store: it owns the connection and the breaker, and groups decisions and refunds.
//!
//! What arrives while a call is in flight goes out as the next one; there is no timer and no queue for later:
//! while there is no connection, what waits is refused at its deadline, and while the breaker is open at once.
//! A call whose reply is lost is never sent again.

mod connect;
mod rotation;
mod standing;

use std::collections::{HashMap, VecDeque};
use std::hash::RandomState;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use redis::{Cmd, Script, Value, cmd};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::breaker::Breaker;
use crate::clock;
use crate::connection::Connection;
use crate::credentials::{Source, Stamp, Target};
use crate::gate::Gate;
use crate::job::{Group, Job, Reply, Request};
use crate::observer::Observer;
use crate::reason::{Reason, StoreError};
use crate::refunds::Refund;
use crate::waits::Waits;
use rotation::Rotation;

/// How often the credentials are looked at while a connection works, and how long to wait while there is nothing to connect to.
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
    /// Charges that wait to be given back by the next call.
    refunds: VecDeque<Refund>,
    /// Other commands that wait, before decisions since they are few.
    commands: VecDeque<(Cmd, Reply<Value>)>,
    taken: Vec<Job>,
    group: Group,
    chance: RandomState,
    /// When each reason was last logged.
    logged: HashMap<Reason, Instant>,
    /// Whether the last line in the log says that the store fails.
    failure_logged: bool,
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
            refunds: VecDeque::new(),
            commands: VecDeque::new(),
            taken: Vec::new(),
            group: Group::default(),
            chance: RandomState::new(),
            logged: HashMap::new(),
            failure_logged: true,
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

    /// Serves until the connection is of no more use.
    async fn serve(&mut self, mut connection: Connection, used: (Target, Stamp)) -> Result<(), Abandoned> {
        let mut rotation = Rotation::new(used.0, used.1);
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // whether the server has answered a real call on this connection
        let mut proven = false;
        loop {
            if self.waiting.is_empty() && self.refunds.is_empty() && self.commands.is_empty() {
                let mut taken = std::mem::take(&mut self.taken);
                let idle = tokio::select! {
                    biased;
                    count = self.jobs.recv_many(&mut taken, AT_ONCE) => {
                        if count == 0 { return Err(Abandoned) }
                        Idle::Job
                    }
                    () = connection.hung_up() => Idle::HungUp,
                    _ = look.tick() => Idle::Look,
                    opened = rotation.opened() => Idle::Opened(opened),
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
                    Idle::Look => rotation.look(&self.source, self.waits.connect),
                    Idle::Opened(opened) => self.replace(&mut connection, opened, &rotation),
                }
            }
            if let Some((command, reply)) = self.commands.pop_front()
                && !reply.is_closed()
            {
                let answer = self.call(&mut connection, &command, 0).await;
                let failed = answer.as_ref().err().cloned();
                let _ = reply.send(answer);
                if self.broken(failed, &mut connection, &mut proven) {
                    return Ok(());
                }
            }
            if self.group.fill(&mut self.refunds, &mut self.waiting, clock::monotonic()) {
                let answer = self.evaluate(&mut connection).await;
                let failed = self.group.settle(answer).err();
                if self.broken(failed, &mut connection, &mut proven) {
                    return Ok(());
                }
            }
            self.take_what_arrived();
            // only an idle worker waits for these above; a busy one must look as well
            if std::future::poll_fn(|context| Poll::Ready(look.poll_tick(context).is_ready())).await {
                rotation.look(&self.source, self.waits.connect);
            }
            if rotation.is_done() {
                let opened = rotation.opened().await;
                self.replace(&mut connection, opened, &rotation);
            }
        }
    }

    fn replace(&self, connection: &mut Connection, opened: Option<Connection>, rotation: &Rotation) {
        if let Some(opened) = opened {
            *connection = opened;
            self.gate.set_install_key(rotation.used().install_key);
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
                self.set_connected();
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

    fn admit(&mut self, job: Job) {
        match job {
            Job::Decide(request) => self.waiting.push_back(request),
            Job::Refund(refund) => self.refunds.push_back(refund),
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
        self.refunds.clear();
        for (command, reply) in self.commands.drain(..) {
            Job::Command { command, reply }.refuse(error);
        }
    }
}

/// Why an idle worker woke up.
enum Idle {
    Job,
    HungUp,
    Look,
    Opened(Option<Connection>),
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
