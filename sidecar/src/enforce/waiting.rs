//! Where admitted requests wait for their time: how many may, and what the waiting hold in memory. A place is freed by
//! dropping it.
use crate::metrics::WaitingMetrics;
use http::request::Parts;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of heads that may wait together. Bodies are not read while their requests wait.
const BYTES: usize = 16 << 20;
/// What a head takes besides its text.
const OVERHEAD: usize = 2 << 10;
/// The unit in which bytes are counted.
const UNIT: usize = 1 << 10;

/// The places of one sidecar.
#[derive(Debug)]
pub(super) struct WaitingRoom {
    places: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    metrics: WaitingMetrics,
}

/// A request's place, and its part of each limit's own places.
#[derive(Debug)]
pub(super) struct Place {
    _permits: Vec<OwnedSemaphorePermit>,
    waiting: Option<Gauge>,
}

impl WaitingRoom {
    /// Room for `places` requests.
    pub(super) fn new(places: usize, metrics: WaitingMetrics) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), memory: Arc::new(Semaphore::new(BYTES / UNIT)), metrics }
    }

    /// A place for this request, also among those of each limit; none where any of them has none left.
    pub(super) fn enter<'l>(
        &self,
        request: &Parts,
        limits: impl IntoIterator<Item = &'l Arc<Semaphore>>,
    ) -> Option<Place> {
        let units = u32::try_from((head_bytes(request) + OVERHEAD).div_ceil(UNIT)).unwrap_or(u32::MAX);
        let taken = || {
            let mut permits = vec![Arc::clone(&self.places).try_acquire_owned().ok()?];
            permits.push(Arc::clone(&self.memory).try_acquire_many_owned(units).ok()?);
            for limit in limits {
                permits.push(Arc::clone(limit).try_acquire_owned().ok()?);
            }
            Some(Place { _permits: permits, waiting: None })
        };
        let place = taken();
        if place.is_none() {
            self.metrics.full.inc();
        }
        place
    }
}

impl Place {
    /// Its request waits from now on.
    pub(super) fn waits(mut self, room: &WaitingRoom) -> Self {
        room.metrics.waiting.inc();
        self.waiting = Some(room.metrics.waiting.clone());
        self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(waiting) = &self.waiting {
            waiting.dec();
        }
    }
}

/// The text of a head.
fn head_bytes(request: &Parts) -> usize {
    let target = request.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let fields = request.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    target + fields.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn request(bytes: usize) -> Parts {
        Request::builder().header("x-long", "a".repeat(bytes)).body(()).unwrap().into_parts().0
    }

    fn room(places: usize) -> WaitingRoom {
        WaitingRoom::new(places, WaitingMetrics::default())
    }

    #[test]
    fn a_place_is_free_again_when_its_request_has_gone() {
        let room = room(2);
        let first = room.enter(&request(1), []).unwrap();
        let _second = room.enter(&request(1), []).unwrap();
        assert!(room.enter(&request(1), []).is_none());
        drop(first);
        assert!(room.enter(&request(1), []).is_some());
        assert_eq!(room.metrics.full.get(), 1);
    }

    #[test]
    fn long_heads_take_the_memory_of_many() {
        let room = room(1_000_000);
        let long = request(62 << 10);
        let places: Vec<_> = std::iter::from_fn(|| room.enter(&long, [])).collect();
        assert_eq!(places.len(), BYTES / (65 << 10));
    }

    #[test]
    fn a_full_limit_keeps_nothing_of_the_others_places() {
        let room = room(1);
        let limits = [Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(0))];
        assert!(room.enter(&request(1), &limits).is_none());
        assert_eq!((room.places.available_permits(), limits[0].available_permits()), (1, 1));
        assert!(room.enter(&request(1), &limits[..1]).is_some());
    }

    #[test]
    fn only_who_waits_is_counted_as_waiting() {
        let room = room(2);
        let place = room.enter(&request(1), []).unwrap();
        assert_eq!(room.metrics.waiting.get(), 0);
        let place = place.waits(&room);
        assert_eq!(room.metrics.waiting.get(), 1);
        drop(place);
        assert_eq!(room.metrics.waiting.get(), 0);
    }
}
