//! JSON that nobody would write, and specs with one or more things changed.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Words that mean something in a spec, and some that don't.
const WORDS: [&str; 55] = [
    "limits",
    "name",
    "match",
    "keys",
    "header",
    "cookie",
    "query",
    "method",
    "host",
    "path",
    "session",
    "clientAddress",
    "from",
    "Forwarded",
    "trustedHops",
    "trustedCIDRs",
    "10.0.0.0/8",
    "rate",
    "period",
    "requests",
    "burst",
    "algorithm",
    "TokenBucket",
    "FixedWindow",
    "SlidingWindow",
    "SlidingLog",
    "LeakyBucket",
    "selector",
    "matchLabels",
    "matchExpressions",
    "1m",
    "1x",
    "/api",
    "%",
    "",
    "Allow",
    "Skip",
    "x-tenant",
    "response",
    "headers",
    "status",
    "RateLimit",
    "enforcement",
    "Shadow",
    "cost",
    "value",
    "default",
    "max",
    "x-cost",
    "queue",
    "maxWait",
    "maxWaiting",
    "slowdown",
    "fromPercent",
    "maxDelay",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned), 1 => ".{0,12}"]
}

/// Any JSON, with a leaning to words that specs have.
pub(super) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-2_i64..40).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(word(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// `spec` with one to three places replaced, removed or added to.
pub(super) fn nearly_a_spec(spec: Value) -> impl Strategy<Value = Value> {
    vec((any::<prop::sample::Index>(), json(), word(), 0_u8..4), 1..4).prop_map(move |changes| {
        let mut spec = spec.clone();
        for (index, value, name, kind) in changes {
            let mut places = Vec::new();
            pointers(&spec, String::new(), &mut places);
            let place = index.get(&places).clone();
            let Some(target) = spec.pointer_mut(&place) else { continue };
            match (kind, target) {
                (0, target) => *target = value,
                (1, Value::Object(map)) => drop(map.insert(name, value)),
                (2, Value::Object(map)) => drop(map.keys().next().cloned().and_then(|k| map.remove(&k))),
                (_, Value::Array(list)) => drop(list.pop()),
                (_, target @ Value::Number(_)) => *target = json!(1),
                (_, target) => *target = Value::from(name),
            }
        }
        spec
    })
}

fn pointers(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(k, v)| {
            pointers(v, format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")), all);
        }),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| pointers(v, format!("{at}/{i}"), all)),
        _ => {}
    }
    all.push(at);
}

/// A limit with some of these fields, most of them of the kind that belongs there.
pub(super) fn limit_with_any(fields: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let algorithm = prop::sample::select(&["SlidingLog", "TokenBucket", "LeakyBucket", "LeakyBucket"][..]);
    let values: Vec<_> = fields.iter().map(|field| prop::option::weighted(0.8, likely(field))).collect();
    (algorithm, 0_i64..40, values).prop_map(|(algorithm, requests, values)| {
        let mut limit = json!({"name": "a", "algorithm": algorithm, "rate": {"requests": requests, "period": "1s"}});
        for (pointer, value) in fields.iter().zip(values) {
            let Some(value) = value else { continue };
            let mut place = &mut limit;
            for name in pointer.split('/') {
                if !place.is_object() {
                    *place = json!({});
                }
                place = &mut place[name];
            }
            *place = value;
        }
        limit
    })
}

fn likely(field: &str) -> BoxedStrategy<Value> {
    let times = prop::sample::select(&["1ms", "1s", "2s500ms", "10m", "11m", "1x"][..]);
    let right = match field.rsplit('/').next() {
        Some("maxWait" | "maxDelay") => times.prop_map(Value::from).boxed(),
        Some("name") => Just(json!("x-cost")).boxed(),
        _ => (0_i64..40).prop_map(Value::from).boxed(),
    };
    prop_oneof![19 => right, 1 => json()].boxed()
}
