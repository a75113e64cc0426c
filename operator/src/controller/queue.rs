//! Which namespaces are to be looked at, and when: touched ones after a short pause that gathers what belongs together,
//! others at the time their last look asked for; never one namespace twice at once. The schedule is pure; the queue around
//! it waits. No client.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::clock;

/// Several objects change together (a policy and its pods, a whole rollout): one look sees them all.
const GATHER: Duration = Duration::from_millis(20);

/// Times at which namespaces are due.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    due: HashMap<String, Instant>,
    order: BTreeSet<(Instant, String)>,
    /// Namespaces being looked at, and when they are due again.
    running: HashMap<String, Option<Instant>>,
}

/// A schedule to which any task may add.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    schedule: Mutex<Schedule>,
    changed: Notify,
}

// === impl Schedule ===

impl Schedule {
    /// The namespace changed.
    pub(crate) fn touch(&mut self, namespace: &str, now: Instant) {
        self.at(namespace, now + GATHER);
    }

    /// The namespace is due at `when`, or sooner if it already was.
    pub(crate) fn at(&mut self, namespace: &str, when: Instant) {
        if let Some(again) = self.running.get_mut(namespace) {
            *again = Some(again.map_or(when, |earlier| earlier.min(when)));
            return;
        }
        match self.due.get_mut(namespace) {
            Some(due) if *due <= when => {}
            Some(due) => {
                self.order.remove(&(*due, namespace.to_owned()));
                *due = when;
                self.order.insert((when, namespace.to_owned()));
            }
            None => {
                self.due.insert(namespace.to_owned(), when);
                self.order.insert((when, namespace.to_owned()));
            }
        }
    }

    /// The namespace that has been due the longest, which now counts as being looked at.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<String> {
        if self.order.first()?.0 > now {
            return None;
        }
        let (_, namespace) = self.order.pop_first()?;
        self.due.remove(&namespace);
        self.running.insert(namespace.clone(), None);
        Some(namespace)
    }

    /// The look is over; it asks for the next one at `next`, if at all.
    pub(crate) fn done(&mut self, namespace: &str, next: Option<Instant>) {
        let touched = self.running.remove(namespace).flatten();
        if let Some(when) = touched.into_iter().chain(next).min() {
            self.at(namespace, when);
        }
    }

    /// When the next namespace is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(when, _)| *when)
    }

    /// Looks that were broken off are over, and due again.
    pub(crate) fn restart(&mut self, now: Instant) {
        let running: Vec<String> = self.running.drain().map(|(namespace, _)| namespace).collect();
        for namespace in running {
            self.at(&namespace, now);
        }
    }
}

// === impl Queue ===

impl Queue {
    /// The namespace changed.
    pub(crate) fn touch(&self, namespace: &str) {
        self.schedule().touch(namespace, clock::instant());
        self.changed.notify_one();
    }

    /// Changes the schedule otherwise.
    pub(crate) fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a namespace that is due.
    pub(crate) async fn pop(&self) -> String {
        loop {
            let next = {
                let mut schedule = self.schedule();
                match schedule.pop(clock::instant()) {
                    Some(namespace) => return namespace,
                    None => schedule.next(),
                }
            };
            let until_next = async {
                match next {
                    Some(when) => tokio::time::sleep_until(when.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until_next => {}
                () = self.changed.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn touches_within_a_moment_are_one_look_and_none_puts_it_off() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        for millis in [0, 5, 10, 15] {
            schedule.touch("shop", after(start, millis));
        }
        assert_eq!(schedule.pop(after(start, 19)), None);
        assert_eq!(schedule.pop(after(start, 20)).as_deref(), Some("shop"));
        assert_eq!(schedule.pop(after(start, 999)), None);
    }

    #[test]
    fn a_namespace_is_never_looked_at_twice_at_once_and_no_touch_is_lost() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.at("shop", start);
        assert!(schedule.pop(start).is_some());
        schedule.touch("shop", start);
        assert_eq!(schedule.pop(after(start, 100)), None);
        schedule.done("shop", Some(after(start, 5000)));
        assert_eq!(schedule.pop(after(start, 100)).as_deref(), Some("shop"));
        schedule.done("shop", None);
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn the_longest_due_comes_first_and_an_earlier_time_wins() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.at("late", after(start, 50));
        schedule.at("early", after(start, 60));
        schedule.at("early", after(start, 10));
        schedule.at("early", after(start, 90));
        assert_eq!(schedule.next(), Some(after(start, 10)));
        assert_eq!(schedule.pop(after(start, 60)).as_deref(), Some("early"));
        assert_eq!(schedule.pop(after(start, 60)).as_deref(), Some("late"));
    }

    #[test]
    fn a_look_that_was_broken_off_is_due_again() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.at("shop", start);
        assert!(schedule.pop(start).is_some());
        schedule.restart(start);
        assert_eq!(schedule.pop(start).as_deref(), Some("shop"));
    }
}
