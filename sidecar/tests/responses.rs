//! What clients are told about limits, by a real sidecar, read by a parser of structured fields that is not ours.
use super::app::App;
use super::client::{Answer, Connection, get};
use super::policies::{PolicyFile, enough_of_the_hour, policy};
use super::sidecar::Sidecar;
use sfv::{BareItem, List, ListEntry, Parser};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The items of a list, each with its integer parameters: what a client of the RateLimit fields reads.
pub(crate) fn items(answer: &Answer, field: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let lines: Vec<&str> = answer.headers.get_all(field).iter().map(|line| line.to_str().unwrap()).collect();
    let list: List = Parser::new(&lines.join(",")).parse().unwrap_or_else(|e| panic!("{field}: {e} in {lines:?}"));
    let item = |entry| match entry {
        ListEntry::Item(item) => {
            let BareItem::String(name) = item.bare_item else { panic!("{lines:?}") };
            let number = |value| if let BareItem::Integer(n) = value { i64::from(n) } else { panic!("{lines:?}") };
            (name.into(), item.params.into_iter().map(|(key, value)| (key.into(), number(value))).collect())
        }
        ListEntry::InnerList(_) => panic!("{lines:?}"),
    };
    list.into_iter().map(item).collect()
}

/// A parameter of the only item of `RateLimit`.
fn left(answer: &Answer, parameter: &str) -> Option<i64> {
    let items = items(answer, "ratelimit");
    assert_eq!(items.len(), 1, "{items:?}");
    items[0].1.iter().find(|(name, _)| name == parameter).map(|(_, value)| *value)
}

fn window(response: &str, requests: u64) -> String {
    let limit = format!("{{name: all, algorithm: FixedWindow, rate: {{requests: {requests}, period: 1h}}}}");
    policy("api", &format!("  response: {response}\n  limits: [{limit}]\n"))
}

#[tokio::test]
async fn every_kind_of_limit_is_told_in_all_headers_admitted_and_refused() {
    let kinds = ["FixedWindow", "SlidingWindow", "SlidingLog", "TokenBucket", "LeakyBucket"];
    let limit = |kind: &&str| {
        format!(
            "  - {{name: {}, match: {{paths: [{{exact: /{kind}}}]}}, algorithm: {kind}, rate: {{requests: 2, period: 24h}}}}\n",
            kind.to_lowercase()
        )
    };
    let limits: String = kinds.iter().map(limit).collect();
    let text = policy("api", &format!("  response: {{headers: [XRateLimit, RateLimit]}}\n  limits:\n{limits}"));
    let (app, file) = (App::start().await, PolicyFile::new(&text));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    for kind in kinds {
        let name = format!("api/{}", kind.to_lowercase());
        let mut connection = Connection::to(sidecar.listen);
        for (status, remaining) in [(200, 1), (200, 0), (429, 0)] {
            let answer = connection.get(&format!("/{kind}"), &[]).await.unwrap();
            assert_eq!(answer.status, status, "{kind}");
            let group = (answer.number("x-ratelimit-limit"), answer.number("x-ratelimit-remaining"));
            assert_eq!(group, (2, remaining), "{kind}");
            assert!(answer.number("x-ratelimit-reset") >= 1, "{kind}");
            let quota = vec![("q".to_owned(), 2), ("w".to_owned(), 86_400)];
            assert_eq!(items(&answer, "ratelimit-policy"), [(name.clone(), quota)], "{kind}");
            assert_eq!(items(&answer, "ratelimit")[0].0, name);
            assert_eq!((left(&answer, "r"), left(&answer, "a")), (Some(remaining as i64), Some(remaining as i64)));
            let more = left(&answer, "t");
            assert_eq!(more, left(&answer, "w"));
            assert!(more.is_some_and(|more| (1..=2 * 86_400).contains(&more)), "{kind} {more:?}");
            if status == 429 {
                assert_eq!(more, Some(answer.number("retry-after") as i64), "{kind}");
            }
        }
    }
}

#[tokio::test]
async fn the_list_of_policies_names_all_that_applied_the_reported_one_first() {
    enough_of_the_hour().await;
    let response = "  response: {headers: [RateLimit]}\n";
    let hourly = |name: &str, requests: u64| {
        format!("  - {{name: {name}, algorithm: FixedWindow, rate: {{requests: {requests}, period: 1h}}}}\n")
    };
    let shadow = "  - {name: dry, enforcement: Shadow, algorithm: FixedWindow, rate: {requests: 1, period: 1h}}\n";
    let one = policy("one", &format!("{response}  limits:\n{}{}{shadow}", hourly("wide", 100), hourly("tight", 4)));
    let two = policy("two", &format!("{response}  limits:\n{}", hourly("tighter", 3)));
    let silent = policy("silent", &format!("  response: {{headers: []}}\n  limits:\n{}", hourly("hidden", 50)));
    let (app, file) = (App::start().await, PolicyFile::new(&[one, two, silent].join("---\n")));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let mut connection = Connection::to(sidecar.listen);
    for remaining in [2, 1, 0, 0] {
        let answer = connection.get("/", &[]).await.unwrap();
        let names: Vec<String> = items(&answer, "ratelimit-policy").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["two/tighter", "one/tight", "one/wide"]);
        assert_eq!((&*items(&answer, "ratelimit")[0].0, left(&answer, "r")), ("two/tighter", Some(remaining)));
        assert_eq!(answer.header("x-ratelimit-limit"), None);
    }
}

#[tokio::test]
async fn off_means_off_admitted_and_refused() {
    enough_of_the_hour().await;
    let (app, file) = (App::start().await, PolicyFile::new(&window("{headers: []}", 1)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    for status in [200, 429] {
        let answer = get(sidecar.listen, "/", &[]).await;
        assert_eq!(answer.status, status);
        assert!(answer.headers.keys().all(|name| !name.as_str().contains("ratelimit")), "{answer:?}");
        assert_eq!(answer.header("retry-after").is_some(), status == 429);
    }
}

#[tokio::test]
async fn an_applications_own_headers_are_kept_or_replaced_as_the_policy_says() {
    enough_of_the_hour().await;
    let app = App::start().await;
    for (existing, limit, group, lists) in [("Keep", "7", 1, 2), ("Replace", "50", 3, 1)] {
        let response = format!("{{headers: [XRateLimit, RateLimit], existing: {existing}}}");
        let file = PolicyFile::new(&window(&response, 50));
        let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
        let answer = get(sidecar.listen, "/own-limit", &[]).await;
        assert_eq!(answer.header("x-ratelimit-limit"), Some(limit));
        assert_eq!(answer.headers.keys().filter(|name| name.as_str().starts_with("x-ratelimit-")).count(), group);
        assert_eq!(items(&answer, "ratelimit").len(), lists, "{answer:?}");
        assert_eq!(answer.header("retry-after"), Some("77"), "the application's is its own");
    }
}

#[tokio::test]
async fn times_are_told_by_the_clock_of_date_when_the_policy_wants_dates() {
    enough_of_the_hour().await;
    let response = "{status: 503, resetFormat: UnixSeconds, retryAfterFormat: HTTPDate}";
    let (app, file) = (App::start().await, PolicyFile::new(&window(response, 1)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    assert_eq!(get(sidecar.listen, "/", &[]).await.status, 200);
    let refused = get(sidecar.listen, "/", &[]).await;
    assert_eq!((refused.status, refused.header("weir-error")), (503, Some("limited")));
    assert_eq!(refused.json()["status"], 503);
    let date = |name| httpdate::parse_http_date(refused.header(name).unwrap()).unwrap();
    let (retry, told) = (date("retry-after"), date("date"));
    assert!(retry >= told + Duration::from_secs(1));
    // the next full hour, which is when the window ends
    let hour = Duration::from_secs(3600);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let end = now.as_secs().div_ceil(hour.as_secs()) * hour.as_secs();
    let near = |seconds: u64| seconds.abs_diff(end) <= 1;
    assert!(near(refused.number("x-ratelimit-reset")) && near(unix(retry)), "{refused:?} {end}");
}

fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs()
}
