//! CPU and memory of the injected containers: requests and limits always, so that quotas are met, and equal ones in a
//! Guaranteed pod, so that it stays one.

use serde_json::{Value, json};

use super::annotations::{Amounts, CPU_LIMIT, CPU_REQUEST, MEMORY_LIMIT, MEMORY_REQUEST, Wishes};
use super::pod::{self, List};
use super::quantity::Quantity;

/// What weir-sidecar gets where nothing is said: request, limit, and the one amount of a Guaranteed pod.
const CPU: [&str; 3] = ["20m", "1", "200m"];
const MEMORY: [&str; 3] = ["32Mi", "256Mi", "96Mi"];

/// Resources of weir-sidecar, and of weir-redirect: it ends before the sidecar begins, so the scheduler counts them once.
///
/// # Errors
/// When the wishes would take its class from a Guaranteed pod.
pub(super) fn injected(pod: &Value, wishes: &Wishes) -> Result<Value, String> {
    let guaranteed = is_guaranteed(pod);
    let cpu = settle(&wishes.cpu, CPU, guaranteed, CPU_REQUEST, CPU_LIMIT)?;
    let memory = settle(&wishes.memory, MEMORY, guaranteed, MEMORY_REQUEST, MEMORY_LIMIT)?;
    Ok(json!({
        "requests": {"cpu": cpu.0, "memory": memory.0},
        "limits": {"cpu": cpu.1, "memory": memory.1},
    }))
}

/// Request and limit of one resource, as text.
fn settle(
    wish: &Amounts,
    [request, limit, both]: [&str; 3],
    guaranteed: bool,
    request_name: &str,
    limit_name: &str,
) -> Result<(String, String), String> {
    if guaranteed {
        if let (Some(least), Some(most)) = (&wish.request, &wish.limit)
            && least != most
        {
            return Err(format!(
                "annotation {request_name}: {least} is not {limit_name}, which is {most}, but the pod is Guaranteed \
                 and would no longer be; write the same amount, or one of the two"
            ));
        }
        let amount = wish.limit.as_ref().or(wish.request.as_ref()).map_or(both, Quantity::as_str);
        return Ok((amount.to_owned(), amount.to_owned()));
    }
    let text = |wish: &Option<Quantity>, default: &str| wish.as_ref().map_or(default, Quantity::as_str).to_owned();
    let (mut least, mut most) = (text(&wish.request, request), text(&wish.limit, limit));
    if Quantity::parse(&least) > Quantity::parse(&most) {
        // Only one was wished for, or this would have been refused: the default gives way.
        if wish.request.is_some() { most.clone_from(&least) } else { least.clone_from(&most) }
    }
    Ok((least, most))
}

/// Every container has limits for both resources, and requests that equal them. The API server has filled in requests from
/// limits by the time we see the pod.
fn is_guaranteed(pod: &Value) -> bool {
    let mut containers = List::BOTH.into_iter().flat_map(|list| pod::containers(pod, list)).peekable();
    containers.peek().is_some()
        && containers.all(|container| {
            ["cpu", "memory"].into_iter().all(|resource| {
                let amount = |kind: &str| quantity(&container["resources"][kind][resource]);
                match (amount("requests"), amount("limits")) {
                    (Some(least), Some(most)) => least == most,
                    (None, Some(_)) => true,
                    (_, None) => false,
                }
            })
        })
}

fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text),
        Value::Number(number) => Quantity::parse(&number.to_string()),
        _ => None,
    }
}
