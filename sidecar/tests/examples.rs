//! Every example does what its comments promise.
use super::app::App;
use super::client::{Connection, ask, get, raw, request};
use super::policies::enough_of_the_hour;
use super::responses::items;
use super::shadows::counted;
use super::sidecar::Sidecar;
use hyper::Method;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/examples");

pub(crate) fn example(name: &str) -> String {
    format!("{EXAMPLES}/{name}.yaml")
}

#[test]
fn every_example_has_a_test() {
    let mut names: Vec<String> = std::fs::read_dir(EXAMPLES)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let stems: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".yaml")).collect();
    // quickstart and layers are tested elsewhere
    let known = [
        "cost",
        "exempt",
        "keys",
        "layers",
        "login",
        "matching",
        "per-client-behind-proxy",
        "per-tenant",
        "queue",
        "quickstart",
        "responses",
        "shadow",
        "slowdown",
        "tiers",
    ];
    assert_eq!(stems, known);
}

#[tokio::test]
async fn login_counts_each_way_of_writing_the_path_and_nothing_but_post() {
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("login")]);
    let began = Instant::now();
    let mut admitted = 0;
    for path in ["/login", "/login/", "/%6Cogin", "/x/../login"].into_iter().cycle().take(24) {
        match ask(Method::POST, sidecar.listen, path, &[], "").await.status {
            200 => admitted += 1,
            status => assert_eq!(status, 429),
        }
    }
    // a token comes back in 30 s
    let back = began.elapsed().as_secs() / 30 + 1;
    assert!((5..=5 + back).contains(&admitted), "{admitted} of 5 and {back}");
    for _ in 0..10 {
        assert_eq!(ask(Method::GET, sidecar.listen, "/login", &[], "").await.status, 200);
        assert_eq!(ask(Method::POST, sidecar.listen, "/logins", &[], "").await.status, 200);
    }
}

#[tokio::test]
async fn an_invented_tenant_does_not_get_around_the_limit_of_its_address() {
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("per-tenant")]);
    let mut connection = Connection::to(sidecar.listen);
    let began = Instant::now();
    let mut admitted = 0;
    let refused = loop {
        let answer = connection.get("/api/things", &[("x-tenant", &format!("invented-{admitted}"))]).await.unwrap();
        if answer.status == 429 {
            break answer;
        }
        assert_eq!(answer.status, 200);
        admitted += 1;
        assert!(admitted < 100_000, "nothing stops it");
    };
    let law = 100 + began.elapsed().as_millis() as u64 * 20 / 1000 + 1;
    assert!((100..=law).contains(&admitted), "{admitted}, the law allows {law}");
    assert_eq!(refused.json()["violated-policies"], serde_json::json!(["per-tenant/per-address"]));
}

#[tokio::test]
async fn responses_tell_all_there_is_to_tell() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("responses")]);
    let mut connection = Connection::to(sidecar.listen);
    let refused = loop {
        let answer = connection.get("/own-limit", &[]).await.unwrap();
        let listed: Vec<String> = items(&answer, "ratelimit-policy").into_iter().map(|(name, _)| name).collect();
        let reported = items(&answer, "ratelimit").remove(0).0;
        assert!(listed.len() == 2 && listed[0] == reported, "{listed:?} {reported}");
        let limit = if reported == "responses/per-hour" { 100 } else { 20 };
        assert_eq!(answer.number("x-ratelimit-limit"), limit, "not the application's 7");
        if answer.status == 429 {
            break answer;
        }
        assert!(app.served() <= 100, "nothing stops it");
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(refused.number("x-ratelimit-reset") + 60 >= now, "a time of day");
    assert!(refused.number("retry-after") >= 1);
}

#[tokio::test]
async fn shadow_refuses_at_twenty_and_tells_of_fifteen() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("shadow")]);
    let mut connection = Connection::to(sidecar.listen);
    for sent in 0..25 {
        let answer = connection.get("/", &[]).await.unwrap();
        assert_eq!((answer.status, answer.number("x-ratelimit-limit")), (if sent < 20 { 200 } else { 429 }, 20));
    }
    counted(&[&sidecar], "default/shadow/tighter", 20).await;
}

#[tokio::test]
async fn cost_takes_what_the_header_says_and_no_more_than_its_max() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("cost")]);
    let mut connection = Connection::to(sidecar.listen);
    // what it says, the status, what is left of the tenant's 100
    for (says, status, left) in [
        (Some("30"), 200, 70),
        (Some("1000000"), 200, 20),
        (Some("30"), 429, 20),
        (Some("10"), 200, 10),
        (Some("-10"), 200, 9),
        (Some("0"), 200, 8),
        (None, 200, 3),
        (Some("much"), 429, 3),
        (Some("3"), 200, 0),
        (Some("1"), 429, 0),
    ] {
        let mut headers = vec![("x-tenant", "a")];
        headers.extend(says.map(|says| ("x-cost", says)));
        let answer = connection.get("/", &headers).await.unwrap();
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (status, left), "{says:?}");
    }
    let ambiguous = connection.get("/", &[("x-tenant", "b"), ("x-cost", "1"), ("x-cost", "2")]).await.unwrap();
    assert_eq!((ambiguous.status, ambiguous.header("weir-error")), (400, Some("malformed")));
    assert_eq!(connection.get("/", &[("x-tenant", "b"), ("x_cost", "1")]).await.unwrap().status, 400);
    // neither was charged
    let fresh = connection.get("/", &[("x-tenant", "b"), ("x-cost", "1")]).await.unwrap();
    assert_eq!((fresh.status, fresh.number("x-ratelimit-remaining")), (200, 99));
    assert_eq!(app.served(), 8);
}

#[tokio::test]
async fn tiers_give_more_to_the_office_and_to_a_plan_and_rows_cost_what_they_are() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("tiers")]);
    let mut connection = Connection::to(sidecar.listen);
    const VISITOR: (&str, &str) = ("x-forwarded-for", "203.0.113.7");
    const OFFICE: (&str, &str) = ("x-forwarded-for", "198.51.100.7");
    const PRO: (&str, &str) = ("x-plan", "pro");
    for (headers, most) in [
        (vec![VISITOR], 3),
        (vec![VISITOR, PRO], 6),
        (vec![OFFICE, PRO], 10),
        (vec![VISITOR, PRO, ("x-plan", "free")], 0),
    ] {
        for left in (0..most).rev() {
            let answer = connection.get("/", &headers).await.unwrap();
            assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, left), "{headers:?}");
        }
        assert_eq!(connection.get("/", &headers).await.unwrap().status, 429, "{headers:?}");
    }
    // told is the limit with the smaller share left
    for (address, target, status, left) in [
        ("192.0.2.1", "/rows?limit=200", 200, 300),
        ("192.0.2.1", "/rows?limit=1000", 200, 50),
        ("192.0.2.1", "/rows?limit=51", 429, 50),
        ("192.0.2.1", "/rows", 200, 0),
        // of an address that has both left
        ("192.0.2.2", "/rows?limit=1&limit=2", 400, 0),
    ] {
        let answer = connection.get(target, &[("x-forwarded-for", address)]).await.unwrap();
        let told = answer.header("x-ratelimit-remaining").map_or(0, |left| left.parse().unwrap());
        assert_eq!((answer.status, told), (status, left), "{target}");
    }
}

#[tokio::test]
async fn queue_lets_one_pass_each_200_ms_and_refuses_who_would_wait_over_two_seconds() {
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("queue")]);
    let began = Instant::now();
    let asked = (0..20).map(|_| async {
        let answer = get(sidecar.listen, "/reports/1", &[]).await;
        (answer.status, began.elapsed().as_millis(), answer)
    });
    let mut answers = futures_util::future::join_all(asked).await;
    answers.sort_by_key(|(status, after, _)| (*status, *after));
    let admitted = answers.iter().filter(|(status, ..)| *status == 200).count();
    // 11 at once, and one more for each 200 ms in which the 20 came in
    assert!(admitted >= 11, "{admitted}");
    for (turn, (_, after, _)) in answers[..admitted].iter().enumerate() {
        assert!(*after >= turn as u128 * 200, "turn {turn} after {after} ms");
    }
    for (status, _, answer) in &answers[admitted..] {
        assert!(*status == 429 && answer.number("retry-after") >= 1, "{answer:?}");
    }
    assert_eq!(app.served(), admitted as u64);
    // other paths have no queue
    assert_eq!(get(sidecar.listen, "/", &[]).await.status, 200);
}

#[tokio::test]
async fn slowdown_holds_each_request_of_the_second_half_up_for_longer() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("slowdown")]);
    let mut connection = Connection::to(sidecar.listen);
    for sent in 1..=20_u64 {
        let began = Instant::now();
        assert_eq!(connection.get("/", &[]).await.unwrap().status, 200);
        let least = Duration::from_millis(50 * sent.saturating_sub(10));
        assert!(began.elapsed() >= least, "request {sent} after {:?}", began.elapsed());
    }
    assert_eq!(connection.get("/", &[]).await.unwrap().status, 429);
}

#[tokio::test]
async fn a_session_is_one_however_it_asks_for_one_and_the_same_and_an_invented_one_ends_at_its_address() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("keys")]);
    let mut connection = Connection::to(sidecar.listen);
    let paths = ["/reports", "/%72eports", "/x/../reports", "//reports", "/reports?page=2"];
    let cookies = ["session=a", "session=\"a\"", "theme=dark; session=%61; session=%61", "theme=dark;session=a"];
    let mut ways = paths.into_iter().flat_map(|path| cookies.map(|cookie| (path, cookie)));
    for (path, cookie) in ways.by_ref().take(10) {
        assert_eq!(connection.get(path, &[("cookie", cookie)]).await.unwrap().status, 200, "{path} {cookie}");
    }
    for (path, cookie) in ways {
        let refused = connection.get(path, &[("cookie", cookie)]).await.unwrap();
        assert_eq!(refused.status, 429, "{path} {cookie}");
        assert_eq!(refused.json()["violated-policies"], serde_json::json!(["keys/per-session-and-resource"]));
    }
    // another method, another path and another session are other counts
    assert_eq!(connection.post("/reports", &[("cookie", "session=a")]).await.unwrap().status, 200);
    assert_eq!(connection.get("/reports/1", &[("cookie", "session=a")]).await.unwrap().status, 200);
    assert_eq!(connection.get("/reports", &[("cookie", "session=b")]).await.unwrap().status, 200);
    for (cookie, why) in [
        ("theme=dark", "cookie session is missing; send it with a value"),
        ("session=", "cookie session is missing; send it with a value"),
        ("session=c; session=d", "cookie session has more than one value; send it once"),
    ] {
        let answer = connection.get("/reports", &[("cookie", cookie)]).await.unwrap();
        assert_eq!((answer.status, answer.header("weir-error")), (400, Some("malformed")));
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert_eq!(detail, format!("default/keys/per-session-and-resource: {why}"));
    }
    assert_eq!(app.served(), 13);
    for invented in 0..37 {
        let cookie = format!("session=invented-{invented}");
        assert_eq!(connection.get("/", &[("cookie", &cookie)]).await.unwrap().status, 200, "{invented}");
    }
    let refused = connection.get("/", &[("cookie", "session=new")]).await.unwrap();
    assert_eq!(refused.json()["violated-policies"], serde_json::json!(["keys/per-address"]));
    assert_eq!(app.served(), 50);
}

#[tokio::test]
async fn a_client_behind_the_proxy_is_the_one_that_the_proxy_names_whatever_it_writes_itself() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("per-client-behind-proxy")]);
    let mut connection = Connection::to(sidecar.listen);
    for sent in 0..10 {
        let header = format!("192.0.2.{sent}, 198.51.100.1");
        assert_eq!(connection.get("/", &[("x-forwarded-for", &header)]).await.unwrap().status, 200, "{sent}");
    }
    let same: [&[(&str, &str)]; 6] = [
        &[("x-forwarded-for", "198.51.100.1")],
        &[("x-forwarded-for", "unknown, 198.51.100.1:4711")],
        &[("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "198.51.100.1")],
        &[("x-forwarded-for", "192.0.2.1, ::ffff:198.51.100.1"), ("forwarded", "for=192.0.2.1")],
        &[("x-forwarded-for", "198.51.100.1"), ("connection", "x-forwarded-for")],
        &[("x-forwarded-for", "198.51.100.1"), ("x_forwarded_for", "192.0.2.1")],
    ];
    for headers in same {
        assert_eq!(connection.get("/", headers).await.unwrap().status, 429, "{headers:?}");
    }
    assert_eq!(connection.get("/", &[("x-forwarded-for", "198.51.100.1, 198.51.100.2")]).await.unwrap().status, 200);
    // without the header, and with one that names nobody: the peer
    for sent in 0..12 {
        let headers: &[(&str, &str)] = if sent % 2 == 0 { &[] } else { &[("x-forwarded-for", "nobody")] };
        let status = connection.get("/", headers).await.unwrap().status;
        assert_eq!(status, if sent < 10 { 200 } else { 429 }, "{sent}");
    }
    assert_eq!(app.served(), 21);
}

/// Sends a request so often, and tells its statuses.
async fn statuses(connection: &mut Connection, times: usize, path: &str, headers: &[(&str, &str)]) -> Vec<u16> {
    let mut all = Vec::new();
    for _ in 0..times {
        all.push(connection.get(path, headers).await.unwrap().status);
    }
    all
}

#[tokio::test]
async fn a_match_is_by_host_path_header_and_parameter_however_they_are_written() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("matching")]);
    let mut connection = Connection::to(sidecar.listen);
    let on = |path, host: &str| {
        let mut request = request(Method::GET, sidecar.listen, path, &[], "");
        request.headers_mut().insert("host", host.parse().unwrap());
        request
    };
    let ways = [
        ("/v1/exports", "shop.example"),
        ("/v2/exports/7", "eu.shop.example:8080"),
        ("/v10/%65xports", "SHOP.example."),
        ("/x/../v1/exports", "a.b.shop.example"),
        ("/v1/exports/", "shop.example"),
    ];
    for (path, host) in ways {
        assert_eq!(connection.send(on(path, host)).await.unwrap().status, 200, "{path} {host}");
    }
    for (path, host) in ways {
        let refused = connection.send(on(path, host)).await.unwrap();
        assert_eq!(refused.status, 429, "{path} {host}");
        assert_eq!(refused.json()["violated-policies"], serde_json::json!(["matching/exports"]));
    }
    for (path, host) in [
        ("/v1/exports-list", "shop.example"),
        ("/vx/exports", "shop.example"),
        ("/api/v1/exports", "shop.example"),
        ("/v1/exports", "workshop.example"),
        ("/v1/exports", "shop.example.org"),
    ] {
        let answer = connection.send(on(path, host)).await.unwrap();
        assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, None), "{path} {host}");
    }
    // names no host, which HTTP/1.0 allows
    let unnamed = raw(sidecar.listen, "GET /v1/exports HTTP/1.0\r\n\r\n").await;
    assert!(unnamed.contains(" 429 "), "{unnamed}");
    for header in [("x-trace", "1"), ("X-Trace", ""), ("x_trace", "yes")] {
        assert_eq!(connection.get("/", &[header]).await.unwrap().status, 200, "{header:?}");
    }
    assert_eq!(statuses(&mut connection, 1, "/", &[("x-trace", "0")]).await, [429]);
    for query in ["?format=pdf", "?Format=PDF", "?page=1&format=%70df", "?format=csv&format=pdf"] {
        assert_eq!(connection.get(&format!("/report{query}"), &[]).await.unwrap().status, 200, "{query}");
    }
    assert_eq!(statuses(&mut connection, 1, "/other?format=pdf", &[]).await, [429]);
    assert_eq!(statuses(&mut connection, 2, "/report?format=csv", &[]).await, [200, 200]);
}

#[tokio::test]
async fn what_is_exempt_is_neither_counted_nor_told_and_what_could_be_more_counts() {
    enough_of_the_hour().await;
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", &example("exempt")]);
    let preflight = [("origin", "https://shop.example"), ("access-control-request-method", "PUT")];
    let and = |more| [preflight[0], preflight[1], more];
    // before and after the limit is used up
    for left in [10, 0] {
        for (method, path, headers) in [
            (Method::GET, "/healthz", &[][..]),
            (Method::HEAD, "/healthz/?deep", &[]),
            (Method::OPTIONS, "/orders", &preflight),
            (Method::OPTIONS, "/orders", &and(("access-control-request-headers", "content-type"))),
        ] {
            let answer = ask(method.clone(), sidecar.listen, path, headers, "").await;
            assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, None), "{left} {method} {path}");
        }
        if left == 0 {
            break;
        }
        let counted = [
            (Method::POST, "/healthz", &[][..], ""),
            (Method::GET, "/x/../healthz", &[], ""),
            (Method::OPTIONS, "/orders", &and(("x-http-method-override", "PUT")), ""),
            (Method::GET, "/healthz/more", &[], ""),
            (Method::GET, "/healthz", &[("x-http-method-override", "POST")], ""),
            (Method::OPTIONS, "/orders", &preflight[..1], ""),
            (Method::OPTIONS, "/orders", &and(("cookie", "session=a")), ""),
            (Method::OPTIONS, "/orders", &and(("authorization", "Bearer x")), ""),
            (Method::OPTIONS, "/orders", &and(("origin", "https://other.example")), ""),
            (Method::OPTIONS, "/orders", &preflight, "a body"),
        ];
        for (sent, (method, path, headers, body)) in counted.into_iter().enumerate() {
            let answer = ask(method, sidecar.listen, path, headers, body).await;
            assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, 9 - sent as u64), "{path}");
        }
        assert_eq!(get(sidecar.listen, "/", &[]).await.status, 429);
    }
}
