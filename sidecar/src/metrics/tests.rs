//! The text as Prometheus reads it.
use super::*;
use std::time::Duration;
use weir_store::{Observer, Reason};

fn has(metrics: &Metrics, line: &str) -> bool {
    metrics.encode().lines().any(|each| each == line)
}

#[test]
fn a_limit_is_in_the_text_from_the_start_and_under_its_own_name() {
    let metrics = Metrics::new(|_| {});
    let counters = metrics.limit("shop/api", "per-ip");
    assert!(has(&metrics, r#"weir_decisions_total{policy="shop/api",limit="per-ip",outcome="refused"} 0"#));
    counters.admitted.inc();
    assert!(has(&metrics, r#"weir_decisions_total{policy="shop/api",limit="per-ip",outcome="admitted"} 1"#));
}

#[test]
fn a_policy_that_is_gone_leaves_the_text() {
    let metrics = Metrics::new(|_| {});
    drop(metrics.limit("shop/api", "per-ip"));
    metrics.generations([], [("shop/api", 3), ("shop/web", 1)]);
    assert!(has(&metrics, r#"weir_policy_generation{policy="shop/api"} 3"#));
    metrics.generations(["shop/api", "shop/web"], [("shop/web", 2)]);
    metrics.forget_limit("shop/api", "per-ip");
    assert!(!metrics.encode().contains("shop/api"));
    assert!(has(&metrics, r#"weir_policy_generation{policy="shop/web"} 2"#));
}

#[test]
fn reloads_and_store_calls_are_counted_by_result() {
    let metrics = Metrics::new(|_| {});
    metrics.reloaded(ReloadResult::Partial);
    assert!(has(&metrics, r#"weir_policy_reloads_total{result="partial"} 1"#));
    assert!(has(&metrics, r#"weir_policy_reloads_total{result="kept"} 0"#));
    metrics.store.call(3, Duration::from_millis(1), None);
    metrics.store.call(1, Duration::from_millis(50), Some(Reason::Timeout));
    assert!(has(&metrics, r#"weir_store_calls_total{result="ok"} 1"#));
    assert!(has(&metrics, r#"weir_store_calls_total{result="timeout"} 1"#));
    assert!(has(&metrics, "weir_store_batch_size_sum 4.0"));
}
