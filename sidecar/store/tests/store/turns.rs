//! The turns of a queue, dealt out by Redis to several stores at once.

use std::time::Duration;

use weir_limiter::{Limit, Quota};
use weir_store::Store;

use crate::server::Server;
use crate::subject::{check, patient};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_deal_out_turns_that_are_a_turn_apart() {
    const TURN: u64 = 20_000;
    let server = Server::start();
    let stores: [Store; 2] = [patient(&server.url()), patient(&server.url())];
    let queue =
        Limit::leaky_queue(Quota::new(50, Duration::from_secs(1)).unwrap(), None, Duration::from_secs(2)).unwrap();
    assert_eq!(queue.capacity(), 101);
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..400 {
        let store = stores[caller % 2].clone();
        callers.spawn(async move {
            let decision = store.decide(&[check("queue", queue)]).await.unwrap();
            let [outcome] = &decision.outcomes[..] else { panic!("one check, one outcome") };
            let departs = outcome.receipt.as_ref().and_then(|receipt| receipt.departs());
            assert_eq!(departs.is_some(), decision.admitted);
            departs.map(|departs| (departs.as_micros(), outcome.delay))
        });
    }
    let mut turns: Vec<(u64, Duration)> = callers.join_all().await.into_iter().flatten().collect();
    turns.sort_unstable();
    assert!(turns.iter().all(|(_, delay)| *delay <= Duration::from_secs(2)), "{turns:?}");
    // who waits does so for the one before
    for pair in turns.windows(2).filter(|pair| !pair[1].1.is_zero()) {
        assert!((pair[0].0 + TURN).abs_diff(pair[1].0) <= 1, "{pair:?} of {turns:?}");
    }
    // as many as wait 2 s at most, and one for each turn that came while the others were asked
    let asked_for = turns.iter().map(|(departs, delay)| departs - delay.as_micros() as u64);
    let took = asked_for.clone().max().unwrap() - asked_for.min().unwrap();
    let came = took / TURN + 1;
    assert!((101..=101 + came).contains(&(turns.len() as u64)), "{} of 101 and {came}", turns.len());
}
