//! Queues and slowdowns through the real binary: nobody is early, nobody is lost, and who leaves gives back.
use super::app::App;
use super::client::{Answer, Connection, get};
use super::policies::{PolicyFile, enough_of_the_hour, policy};
use super::redis::Redis;
use super::sidecar::{PATIENCE, Sidecar};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A sample of the sidecar's metrics.
async fn metric(sidecar: &Sidecar, name: &str) -> f64 {
    let text = get(sidecar.admin, "/metrics", &[]).await.text();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
}

async fn until_metric(sidecar: &Sidecar, name: &str, wanted: f64) {
    let began = Instant::now();
    loop {
        let now = metric(sidecar, name).await;
        if now == wanted {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{name} is {now} and not {wanted}:\n{}", sidecar.log());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn outcome(outcome: &str) -> String {
    format!(r#"weir_decisions_total{{policy="shop/api",limit="line",outcome="{outcome}"}}"#)
}

/// A queue in which one passes each five minutes and two hold places, by the header `x-user`.
fn slow_line() -> PolicyFile {
    PolicyFile::new(&policy(
        "api",
        "  onStoreFailure: Deny\n  limits:\n  - {name: line, algorithm: LeakyBucket, rate: {requests: 12, period: 1h}, burst: 2, \
         queue: {maxWait: 10m}, keys: [{header: {name: x-user}}]}",
    ))
}

/// A client that has sent its request and waits.
async fn waiting(sidecar: &Sidecar, user: &str) -> TcpStream {
    let before = metric(sidecar, "weir_waiting").await;
    let mut client = TcpStream::connect(sidecar.listen).await.unwrap();
    let head = format!("POST / HTTP/1.1\r\nHost: shop\r\nx-user: {user}\r\nContent-Length: 100000\r\n\r\nunread");
    client.write_all(head.as_bytes()).await.unwrap();
    until_metric(sidecar, "weir_waiting", before + 1.0).await;
    client
}

/// Asks until the store has decided: on a busy machine it may take more than its 50 ms.
async fn decided(to: SocketAddr, user: &str) -> Answer {
    loop {
        let answer = get(to, "/", &[("x-user", user)]).await;
        if answer.status != 503 {
            return answer;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_over_two_sidecars_lets_through_one_each_turn_and_none_before_it() {
    const TURN: Duration = Duration::from_millis(20);
    let line = policy(
        "api",
        "  onStoreFailure: Deny\n  limits:\n  - {name: line, algorithm: LeakyBucket, rate: {requests: 50, period: 1s}, \
         queue: {maxWait: 2s}}",
    );
    let (app, file, redis) = (App::start().await, PolicyFile::new(&line), Redis::start());
    let flags = ["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"];
    let sidecars = [Sidecar::start(app.address, &flags), Sidecar::start(app.address, &flags)];
    let began = Instant::now();
    let clients: Vec<_> = (0..400)
        .map(|client| {
            let mut connection = Connection::to(sidecars[client % 2].listen);
            tokio::spawn(async move {
                let answer = connection.get("/", &[]).await.unwrap();
                (answer.status, began.elapsed())
            })
        })
        .collect();
    let (mut admitted, mut undecided, mut last_refused) = (Vec::new(), 0_u64, Duration::ZERO);
    for client in clients {
        match client.await.unwrap() {
            (200, at) => admitted.push(at),
            (429, at) => last_refused = last_refused.max(at),
            (503, at) => (undecided, last_refused) = (undecided + 1, last_refused.max(at)),
            (other, _) => panic!("answered {other}"),
        }
    }
    admitted.sort();
    // capacity is 2 s of turns and the one that departs at once; while all were asked, more turns came
    let came = (last_refused.as_millis() / TURN.as_millis()) as u64 + 1;
    let count = admitted.len() as u64;
    let right = count <= 101 + came && count + undecided >= 101;
    assert!(right, "{count} admitted, {undecided} undecided, of 101 and {came}");
    assert_eq!(app.served(), count);
    // turns are a turn apart over both, so the nth to be through has waited n turns since the first could be asked
    let early = admitted.iter().enumerate().find(|(n, at)| **at < TURN * *n as u32);
    assert_eq!(early, None, "before its turn");
    let (p50, p99) = (lateness(&sidecars, 0.5).await, lateness(&sidecars, 0.99).await);
    println!("{count} admitted, {undecided} undecided; later than their turn: p50 within {p50} s, p99 within {p99} s");
}

/// The bound that this share of all waits were late by at most, as the sidecars' own clocks saw it.
async fn lateness(sidecars: &[Sidecar], share: f64) -> String {
    let mut buckets: Vec<(String, f64)> = Vec::new();
    for sidecar in sidecars {
        let text = get(sidecar.admin, "/metrics", &[]).await.text();
        let found = text.lines().filter_map(|line| {
            let (bound, count) = line.strip_prefix(r#"weir_wait_late_seconds_bucket{le=""#)?.split_once(r#""} "#)?;
            Some((bound.to_owned(), count.parse::<f64>().unwrap()))
        });
        for (place, (bound, count)) in found.enumerate() {
            match buckets.get_mut(place) {
                Some(bucket) => bucket.1 += count,
                None => buckets.push((bound, count)),
            }
        }
    }
    let all = buckets.last().expect("there are buckets").1;
    buckets.into_iter().find(|(_, count)| *count >= all * share).expect("the last one holds all").0
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_the_queue_gives_its_turn_back() {
    let (app, file, redis) = (App::start().await, slow_line(), Redis::start());
    for store in ["memory:", &redis.url()] {
        let sidecar = Sidecar::start(app.address, &["--policy", file.flag(), "--store", store, "--namespace", "shop"]);
        assert_eq!(decided(sidecar.listen, "ann").await.status, 200);
        for left in 1..=3 {
            let second = waiting(&sidecar, "ann").await;
            assert_eq!(decided(sidecar.listen, "ann").await.status, 429, "both places are held");
            drop(second);
            until_metric(&sidecar, &outcome("left"), f64::from(left)).await;
            until_metric(&sidecar, r#"weir_store_refunds_total{result="given_back"}"#, f64::from(left)).await;
        }
        assert_eq!(metric(&sidecar, "weir_waiting").await, 0.0);
        assert_eq!(metric(&sidecar, &outcome("admitted")).await, 1.0);
    }
    assert_eq!(app.served(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_all_places_taken_who_need_not_wait_passes_and_the_others_are_refused() {
    let (app, file) = (App::start().await, slow_line());
    let flags = ["--policy", file.flag(), "--store", "memory:", "--max-waiting", "1"];
    let sidecar = Sidecar::start(app.address, &flags);
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "ann")]).await.status, 200);
    let ann = waiting(&sidecar, "ann").await;
    let bob = get(sidecar.listen, "/", &[("x-user", "bob")]).await;
    assert_eq!(bob.status, 200, "his line is empty");
    let refused = get(sidecar.listen, "/", &[("x-user", "bob")]).await;
    // his turn comes in five minutes, when he need not wait for it
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("300")));
    drop(ann);
    until_metric(&sidecar, "weir_waiting", 0.0).await;
    let _bob = waiting(&sidecar, "bob").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_has_places_of_its_own() {
    let app = App::start().await;
    let line = |most: u32| {
        policy(
            "api",
            &format!(
                "  limits:\n  - {{name: line, algorithm: LeakyBucket, rate: {{requests: 12, period: 1h}}, burst: 5, \
                 queue: {{maxWait: 10m, maxWaiting: {most}}}, keys: [{{header: {{name: x-user}}}}]}}"
            ),
        )
    };
    let file = PolicyFile::new(&line(1));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "ann")]).await.status, 200);
    let _first = waiting(&sidecar, "ann").await;
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "ann")]).await.status, 429);
    // an edit that leaves their number as it is takes no place back and gives none away
    std::fs::write(&file.path, line(1).replace("burst: 5", "burst: 6")).unwrap();
    let began = Instant::now();
    while get(sidecar.listen, "/", &[("x-user", &format!("{:?}", began.elapsed()))]).await.number("x-ratelimit-limit")
        != 6
    {
        assert!(began.elapsed() < PATIENCE);
    }
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "ann")]).await.status, 429);
    assert_eq!(metric(&sidecar, "weir_waiting").await, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slowdown_holds_back_as_long_as_its_formula_says() {
    enough_of_the_hour().await;
    let slower = policy(
        "api",
        "  limits:\n  - {name: line, algorithm: FixedWindow, rate: {requests: 10, period: 1h}, slowdown: {fromPercent: 50, maxDelay: 300ms}}",
    );
    let (app, file) = (App::start().await, PolicyFile::new(&slower));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let mut connection = Connection::to(sidecar.listen);
    for used in 1..=10_u64 {
        let began = Instant::now();
        let answer = connection.get("/", &[]).await.unwrap();
        let took = began.elapsed();
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, 10 - used));
        assert_eq!(answer.header("retry-after"), None);
        // 300 ms · (used − 50 %) / 50 %
        let delay = Duration::from_millis(used.saturating_sub(5) * 60);
        assert!(took >= delay, "{used} used: {took:?} instead of {delay:?}");
    }
    assert_eq!(connection.get("/", &[]).await.unwrap().status, 429);
    assert_eq!(metric(&sidecar, &outcome("delayed")).await, 5.0);
    // 60 + 120 + 180 + 240 + 300 ms as assigned
    let assigned = metric(&sidecar, "weir_wait_seconds_sum").await;
    assert!((assigned - 0.9).abs() < 1e-6, "{assigned}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slowed_down_request_without_a_place_is_refused_and_not_charged() {
    enough_of_the_hour().await;
    let slower = policy(
        "api",
        "  limits:\n  - {name: line, algorithm: FixedWindow, rate: {requests: 2, period: 1h}, slowdown: {fromPercent: 50, maxDelay: 10m}, \
         keys: [{header: {name: x-user}}]}",
    );
    let (app, file) = (App::start().await, PolicyFile::new(&slower));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag(), "--max-waiting", "1"]);
    for user in ["ann", "bob"] {
        assert_eq!(get(sidecar.listen, "/", &[("x-user", user)]).await.number("x-ratelimit-remaining"), 1);
    }
    let ann = waiting(&sidecar, "ann").await;
    for _ in 0..3 {
        let refused = get(sidecar.listen, "/", &[("x-user", "bob")]).await;
        assert_eq!((refused.status, refused.number("x-ratelimit-remaining")), (429, 1));
    }
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "cid")]).await.status, 200, "who is not slowed down passes");
    drop(ann);
    until_metric(&sidecar, "weir_waiting", 0.0).await;
    let _bob = waiting(&sidecar, "bob").await;
    assert_eq!(metric(&sidecar, "weir_waiting_full_total").await, 3.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_that_stops_gives_back_what_it_can_not_let_through() {
    let (app, file, redis) = (App::start().await, slow_line(), Redis::start());
    let flags = ["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop", "--drain-grace", "5s"];
    let mut sidecar = Sidecar::start(app.address, &flags);
    assert_eq!(decided(sidecar.listen, "ann").await.status, 200);
    let stays = sidecar.listen;
    let waits = tokio::spawn(async move { get(stays, "/", &[("x-user", "ann")]).await });
    until_metric(&sidecar, "weir_waiting", 1.0).await;
    sidecar.signal("TERM");
    let answer = waits.await.unwrap();
    assert_eq!((answer.status, answer.header("weir-error")), (503, Some("draining")));
    assert_eq!(sidecar.ends().await, 0);
    // its turn is another's
    let next = Sidecar::start(app.address, &flags);
    let _client = waiting(&next, "ann").await;
}
