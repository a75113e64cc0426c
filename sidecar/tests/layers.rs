//! Several limits on one request, of one policy and of two: the first that is exhausted refuses, and who is refused is
//! charged nowhere.
use super::app::App;
use super::client::{Answer, Connection, get};
use super::examples::example;
use super::policies::{PolicyFile, enough_of, now, per_user};
use super::sidecar::Sidecar;
use std::net::Ipv4Addr;

/// A policy of someone else on the same pods.
const OTHER: &str = "
---
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: other}
spec:
  limits:
  - {name: posts, match: {methods: [POST]}, algorithm: FixedWindow, rate: {requests: 12, period: 1h}}
";

/// What refused it, by name; nothing where it passed.
fn refused_by(answer: &Answer) -> Vec<String> {
    let mut names: Vec<String> = match answer.status {
        200 => Vec::new(),
        429 => serde_json::from_value(answer.json()["violated-policies"].clone()).unwrap(),
        status => panic!("{status}: {answer:?}"),
    };
    names.sort();
    names
}

/// A client at an address, and who it says it is.
struct Client {
    connection: Connection,
    user: &'static str,
}

impl Client {
    fn new(sidecar: &Sidecar, last: u8, user: &'static str) -> Self {
        Self { connection: Connection::from(Ipv4Addr::new(127, 0, 0, last), sidecar.listen), user }
    }

    /// Gets so many times; what was refused, by what, and how often.
    async fn gets(&mut self, times: u32) -> Vec<String> {
        let mut refused = Vec::new();
        for _ in 0..times {
            refused.extend(refused_by(&self.connection.get("/", &[("x-user", self.user)]).await.unwrap()));
        }
        refused
    }

    async fn posts(&mut self, path: &str, times: u32) -> Vec<String> {
        let mut refused = Vec::new();
        for _ in 0..times {
            refused.extend(refused_by(&self.connection.post(path, &[("x-user", self.user)]).await.unwrap()));
        }
        refused
    }
}

#[tokio::test]
async fn the_first_layer_that_is_exhausted_refuses_and_none_is_charged_for_it() {
    let text = std::fs::read_to_string(example("layers")).unwrap() + OTHER;
    loop {
        // windows are of minutes, and one that ends midway shows nothing
        enough_of(60, 30).await;
        let minute = now() / 60;
        let told = layers(&text).await;
        if now() / 60 == minute {
            for (what, refused, expected) in told {
                assert_eq!(refused, expected, "{what}");
            }
            return;
        }
    }
}

/// What was tried, what refused it, and what had to.
async fn layers(text: &str) -> Vec<(&'static str, Vec<String>, Vec<&'static str>)> {
    let (app, file) = (App::start().await, PolicyFile::new(text));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let mut told = Vec::new();
    let mut ann = Client::new(&sidecar, 1, "ann");
    told.push(("10 logins pass", ann.posts("/login", 10).await, vec![]));
    told.push(("and no more", ann.posts("/login", 20).await, vec!["layers/logins"; 20]));
    told.push(("50 are left of the address", ann.gets(50).await, vec![]));
    told.push(("and no more", ann.gets(3).await, vec!["layers/per-address"; 3]));
    for last in 2..11 {
        told.push(("540 are left of the user", Client::new(&sidecar, last, "ann").gets(60).await, vec![]));
    }
    let mut elsewhere = Client::new(&sidecar, 11, "ann");
    told.push(("and no more", elsewhere.gets(3).await, vec!["layers/per-user"; 3]));
    elsewhere.user = "bob";
    told.push(("2 are left of the other policy", elsewhere.posts("/things", 2).await, vec![]));
    told.push(("and no more", elsewhere.posts("/things", 3).await, vec!["other/posts"; 3]));
    told.push(("whatever the path", elsewhere.posts("/login", 3).await, vec!["other/posts"; 3]));
    told.push(("58 are left of the address", elsewhere.gets(58).await, vec![]));
    told.push(("and no more", elsewhere.gets(1).await, vec!["layers/per-address"]));
    told.push(("nor by way of both", elsewhere.posts("/things", 1).await, vec!["layers/per-address", "other/posts"]));
    told.push(("what passed was served", vec![app.served().to_string()], vec!["660"]));
    told
}

#[tokio::test]
async fn every_port_is_limited_and_counts_with_the_others() {
    enough_of(3600, 60).await;
    let file = PolicyFile::new(&per_user(3));
    let (first, second) = (App::start().await, App::start().await);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sidecar =
        Sidecar::start(first.address, &["--policy", file.flag(), "--route", &format!("{port}={}", second.address)]);
    let ask = async |address| get(address, "/", &[("x-user", "ann")]).await.status;
    assert_ne!(sidecar.listen, port);
    assert_eq!([ask(sidecar.listen).await, ask(port).await, ask(sidecar.listen).await], [200; 3]);
    assert_eq!([ask(port).await, ask(sidecar.listen).await], [429; 2]);
    assert_eq!((first.served(), second.served()), (2, 1));
}
