//! What is wrong is refused with a message that names the field, and takes nothing else down.
use crate::app::{App, Namespace};
use crate::wait::until;
use crate::world::turn;

fn policy(name: &str, limits: &str) -> String {
    format!(
        "apiVersion: weir.dev/v1alpha1\nkind: RateLimitPolicy\nmetadata: {{name: {name}}}\nspec:\n  limits: {limits}\n"
    )
}

#[test]
fn kubectl_apply_refuses_a_wrong_policy_and_names_the_field() {
    let world = turn();
    let namespace = Namespace::new(&world, "wrong", "");
    let rows = [
        ("[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1x}}]", &["period"][..]),
        ("[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1d}}]", &["period", "24h"]),
        ("[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}, burts: 3}]", &["burts"]),
        ("[{name: a, algorithm: TokenBucket, rate: {requests: 1, period: 1m}, burst: 0}]", &["burst"]),
        ("[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}, burst: 2}]", &["burst", "TokenBucket"]),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}}, \
              {name: a, algorithm: FixedWindow, rate: {requests: 2, period: 1m}}]",
            &["limits"],
        ),
        ("[{name: a, keys: [{header: {}}], algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]", &["name"]),
        (
            "[{name: a, keys: [{host: {}, path: {}}], algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]",
            &["keys[0]", "exactly one of header, cookie"],
        ),
        (
            "[{name: a, keys: [{cookie: {name: a b}}], algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]",
            &["cookie.name", "must be a cookie name"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]\n  clientAddress: {trustedHops: 1, \
             trustedCIDRs: [10.0.0.0/8]}",
            &["clientAddress", "exactly one of trustedHops, trustedCIDRs"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]\n  clientAddress: {trustedCIDRs: [10.0.0.1]}",
            &["trustedCIDRs", "must be a network such as 10.0.0.0/8"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]\n  clientAddress: {trustedCIDRs: [10.1.2.3/8]}",
            &["trustedCIDRs[0]", "write 10.0.0.0/8"],
        ),
        ("[{name: a, algorithm: GuessWork, rate: {requests: 1, period: 1m}}]", &["algorithm", "TokenBucket"]),
        ("[{name: a, algorithm: FixedWindow}]", &["rate"]),
        ("[]", &["limits"]),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 9, period: 1m}, cost: {}}]",
            &["cost", "exactly one of value, header"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 9, period: 1m}, cost: {value: 1, max: 2}}]",
            &["cost.max", "goes with header or query only"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 9, period: 1m}, cost: {value: 10}}]",
            &["cost.value", "can never pass"],
        ),
        (
            "[{name: a, algorithm: TokenBucket, rate: {requests: 9, period: 1m}, burst: 3, \
              cost: {header: {name: x-cost}, max: 4}}]",
            &["cost.max", "can never pass"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 9, period: 1m}, \
              cost: {header: {name: x-cost}, default: 3, max: 2}}]",
            &["cost.default", "at most max"],
        ),
        (
            "[{name: a, algorithm: TokenBucket, rate: {requests: 9, period: 1m}, queue: {maxWait: 2s}}]",
            &["queue", "LeakyBucket only"],
        ),
        (
            "[{name: a, algorithm: LeakyBucket, rate: {requests: 9, period: 1m}, queue: {maxWait: 11m}}]",
            &["maxWait", "10m"],
        ),
        (
            "[{name: a, algorithm: LeakyBucket, rate: {requests: 9, period: 1m}, queue: {maxWait: 2s}, \
              slowdown: {fromPercent: 80, maxDelay: 1s}}]",
            &["slowdown", "does not go with queue"],
        ),
        (
            "[{name: a, algorithm: LeakyBucket, rate: {requests: 9, period: 1s}, queue: {maxWait: 2s}, cost: {value: 20}}]",
            &["cost.value", "the limit holds 19"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 9, period: 1m}, slowdown: {fromPercent: 100, maxDelay: 1s}}]",
            &["fromPercent"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]\n  response: {status: 401}",
            &["status", "credentials"],
        ),
        (
            "[{name: a, algorithm: FixedWindow, rate: {requests: 1, period: 1m}}]\n  response: {headers: [RateLimit, RateLimit]}",
            &["headers"],
        ),
    ];
    for (limits, named) in rows {
        let refusal = world.try_apply(&namespace.name, &policy("wrong", limits)).expect_err(limits);
        for word in named {
            assert!(refusal.contains(word), "{limits}\nis refused without naming {word}:\n{refusal}");
        }
    }
    let left = namespace.kubectl(&["get", "rlp", "-o", "name"]);
    assert_eq!(left, "", "nothing of a refused policy is kept");
}

#[test]
fn a_policy_that_came_past_the_webhook_is_reported_and_takes_no_other_down() {
    let world = turn();
    let namespace = Namespace::new(&world, "slipped", "");
    let app = App::default();
    namespace.deploy(&app);
    let good = "[{name: all, algorithm: FixedWindow, rate: {requests: 500, period: 1h}}]";
    namespace.apply(&policy("good", good));
    namespace.condition("good", "Enforced", "True");

    // Two exact paths that read as one, say; here: what no schema rule can see, let in by taking the webhook away.
    let webhooks = ["validatingwebhookconfiguration", "weir-policies"];
    let kept = world.kubectl(&["get", webhooks[0], webhooks[1], "-o", "json"]);
    world.kubectl(&["delete", webhooks[0], webhooks[1]]);
    let slipped = policy(
        "slipped",
        "[{name: all, algorithm: TokenBucket, rate: {requests: 1, period: 720h}, burst: 1000000000}]",
    );
    let applied = world.try_apply(&namespace.name, &slipped);
    // Put back before anything can fail.
    let mut configuration: serde_json::Value = serde_json::from_str(&kept).expect("kubectl prints JSON");
    for field in ["resourceVersion", "uid", "creationTimestamp", "managedFields"] {
        configuration["metadata"].as_object_mut().expect("an object").remove(field);
    }
    world.apply("default", &configuration.to_string());
    applied.expect("the schema alone lets it in");

    let condition = namespace.condition("slipped", "Accepted", "False");
    assert_eq!(condition["reason"], "Invalid");
    assert!(condition["message"].as_str().is_some_and(|m| m.contains("spec.limits[0].burst")), "{condition}");

    namespace.apply(&policy("good", &good.replace("500", "400")));
    namespace.condition("good", "Enforced", "True");
    let url = namespace.service_url(&app, "/");
    until("the good policy is in force", || {
        let report = world.load(&[&url, "-n", "1"]);
        let first = report.first.values().next().cloned().unwrap_or_default();
        if first.headers.iter().any(|h| h == "x-ratelimit-limit: 400") { Ok(()) } else { Err(report) }
    });
}

#[test]
fn a_malformed_annotation_is_refused_by_name() {
    let world = turn();
    let namespace = Namespace::new(&world, "annotation", "");
    let pod = |annotation: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, annotations: {{weir.dev/inject: \"true\", {annotation}}}}}\n\
             spec: {{containers: [{{name: app, image: {}, imagePullPolicy: Never, ports: [{{containerPort: 8080}}]}}]}}\n",
            world.image("echo")
        )
    };
    for (annotation, named) in [
        ("weir.dev/ports: \"80,http\"", "weir.dev/ports"),
        ("weir.dev/capture: sideways", "weir.dev/capture"),
        ("weir.dev/memory-limit: lots", "weir.dev/memory-limit"),
        ("weir.dev/x-forwarded-for: maybe", "weir.dev/x-forwarded-for"),
    ] {
        let refusal = world.try_apply(&namespace.name, &pod(annotation)).expect_err(annotation);
        assert!(refusal.contains(named), "{annotation}\nis refused without naming {named}:\n{refusal}");
    }
}
