//! The objects of one kind as a watch last showed them, by namespace, and which namespaces a change touched. Unlike a
//! reflector's store it answers by namespace without a scan, keeps facts instead of whole objects, and stays silent about
//! a change that no fact shows. No client.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use kube::runtime::watcher::Event;

type Objects<T> = HashMap<String, BTreeMap<String, Arc<T>>>;

/// Facts of type `T`, by namespace and name.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    seen: RwLock<Objects<T>>,
    synced: AtomicBool,
}

/// The part that belongs to the one watch that fills a cache.
#[derive(Debug)]
pub(crate) struct Writer<T> {
    cache: Arc<Cache<T>>,
    /// What a list has shown so far; it replaces everything once it is whole.
    listed: Objects<T>,
}

/// Where an object lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

// === impl Cache ===

impl<T: PartialEq> Cache<T> {
    pub(crate) fn new() -> (Arc<Self>, Writer<T>) {
        let cache = Arc::new(Self { seen: RwLock::default(), synced: AtomicBool::new(false) });
        (cache.clone(), Writer { cache, listed: Objects::new() })
    }

    /// Whether everything was listed once.
    pub(crate) fn is_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    /// All objects of a namespace, by name.
    pub(crate) fn of(&self, namespace: &str) -> Vec<Arc<T>> {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner);
        seen.get(namespace).map(|objects| objects.values().cloned().collect()).unwrap_or_default()
    }

    /// One object.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner).get(namespace)?.get(name).cloned()
    }

    /// The namespaces with at least one object.
    pub(crate) fn namespaces(&self) -> Vec<String> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

// === impl Writer ===

impl<T: PartialEq> Writer<T> {
    /// Takes one event in; the answer is which namespaces look different after it.
    pub(crate) fn take<K>(&mut self, event: Event<K>, read: impl Fn(&K) -> (Key, T)) -> BTreeSet<String> {
        match event {
            Event::Init => {
                self.listed.clear();
                BTreeSet::new()
            }
            Event::InitApply(object) => {
                let (key, facts) = read(&object);
                self.listed.entry(key.namespace).or_default().insert(key.name, Arc::new(facts));
                BTreeSet::new()
            }
            Event::InitDone => self.replace(),
            Event::Apply(object) => {
                let (key, facts) = read(&object);
                let mut seen = self.cache.seen.write().unwrap_or_else(PoisonError::into_inner);
                let objects = seen.entry(key.namespace.clone()).or_default();
                let same = objects.get(&key.name).is_some_and(|old| **old == facts);
                objects.insert(key.name, Arc::new(facts));
                (!same).then_some(key.namespace).into_iter().collect()
            }
            Event::Delete(object) => {
                let (key, _) = read(&object);
                let mut seen = self.cache.seen.write().unwrap_or_else(PoisonError::into_inner);
                let Some(objects) = seen.get_mut(&key.namespace) else { return BTreeSet::new() };
                let known = objects.remove(&key.name).is_some();
                if objects.is_empty() {
                    seen.remove(&key.namespace);
                }
                known.then_some(key.namespace).into_iter().collect()
            }
        }
    }

    fn replace(&mut self) -> BTreeSet<String> {
        let mut seen = self.cache.seen.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *seen, std::mem::take(&mut self.listed));
        let touched = old.keys().chain(seen.keys()).filter(|ns| old.get(*ns) != seen.get(*ns)).cloned().collect();
        self.cache.synced.store(true, Ordering::Release);
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(object: &(&str, &str, u32)) -> (Key, u32) {
        (Key { namespace: object.0.to_owned(), name: object.1.to_owned() }, object.2)
    }

    fn take(writer: &mut Writer<u32>, event: Event<(&'static str, &'static str, u32)>) -> Vec<String> {
        writer.take(event, read).into_iter().collect()
    }

    #[test]
    fn only_a_changed_fact_touches_a_namespace() {
        let (cache, mut writer) = Cache::new();
        assert_eq!(take(&mut writer, Event::Apply(("shop", "a", 1))), ["shop"]);
        assert!(take(&mut writer, Event::Apply(("shop", "a", 1))).is_empty());
        assert_eq!(take(&mut writer, Event::Apply(("shop", "a", 2))), ["shop"]);
        assert_eq!(cache.get("shop", "a").as_deref(), Some(&2));
        assert_eq!(take(&mut writer, Event::Delete(("shop", "a", 2))), ["shop"]);
        assert!(take(&mut writer, Event::Delete(("shop", "a", 2))).is_empty());
        assert!(cache.namespaces().is_empty());
    }

    #[test]
    fn a_list_takes_effect_as_a_whole_and_what_it_lacks_is_gone() {
        let (cache, mut writer) = Cache::new();
        for (namespace, value) in [("kept", 1), ("gone", 1), ("changed", 1)] {
            take(&mut writer, Event::Apply((namespace, "a", value)));
        }
        take(&mut writer, Event::Init);
        take(&mut writer, Event::InitApply(("kept", "a", 1)));
        take(&mut writer, Event::InitApply(("changed", "a", 2)));
        assert!(!cache.is_synced());
        assert_eq!(cache.of("gone").len(), 1, "an unfinished list takes nothing away");
        assert_eq!(take(&mut writer, Event::InitDone), ["changed", "gone"]);
        assert!(cache.is_synced());
        assert!(cache.of("gone").is_empty());
    }
}
