//! Of a queue: who departs when.

use proptest::prelude::*;
use weir_limiter::Verdict;

use super::{run, steps};
use crate::histories::queues;

proptest! {
    /// Against departures reckoned one after the other, in exact fractions.
    #[test]
    fn a_queue_departs_in_the_order_of_admission_each_when_what_came_before_has_run_out(
        limit in queues(), steps in steps(false, 1),
    ) {
        let (n, p) = (u128::from(limit.quota().requests()), limit.quota().period().as_micros());
        let (holds, waits) = (u128::from(limit.capacity()) * p, limit.max_wait().expect("a queue").as_micros());
        // in Nths of a µs: when the next one may depart
        let mut next = 0;
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            let (now, cost, outcome) = (u128::from(now) * n, u128::from(cost), &decision.outcomes[0]);
            let departs = now.max(next);
            let fits = departs + cost * p <= now + holds && departs - now <= waits * n;
            prop_assert_eq!(decision.admitted, n > 0 && (cost == 0 || fits));
            if decision.admitted && cost > 0 {
                prop_assert_eq!(outcome.delay.as_micros(), (departs - now).div_ceil(n));
                next = departs + cost * p;
            } else {
                prop_assert!(outcome.delay.is_zero());
            }
            Ok(())
        })?;
    }

    #[test]
    fn departures_of_a_busy_queue_are_the_time_of_a_request_apart_and_none_is_before_its_request(
        limit in queues(), steps in steps(false, 1),
    ) {
        let (n, p) = (u128::from(limit.quota().requests()), limit.quota().period().as_micros());
        let mut before: Option<(u128, u128)> = None;
        run(&[limit], &steps, |now, _, cost, _, decision, _| {
            if decision.admitted && cost > 0 {
                let delay = decision.outcomes[0].delay.as_micros();
                let departure = u128::from(now) + delay;
                if let Some((last, cost)) = before {
                    // to a microsecond, since instants are whole
                    let apart = (departure - last) * n;
                    prop_assert!(apart + n > cost * p, "{apart} of {}", cost * p);
                    prop_assert!(delay == 0 || apart < cost * p + n, "{apart} of {}", cost * p);
                }
                before = Some((departure, u128::from(cost)));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_request_that_would_wait_longer_than_it_may_is_refused_and_no_other_is_for_that(
        limit in queues(), steps in steps(true, 1), shorter in 0..700_000_000_u64,
    ) {
        let shorter = std::time::Duration::from_micros(shorter);
        let hurried = limit.waiting_at_most(shorter);
        prop_assert_eq!(hurried.max_wait(), limit.max_wait().map(|wait| wait.min(shorter)));
        run(&[limit], &steps, |now, _, cost, before, decision, _| {
            let told = &decision.outcomes[0];
            prop_assert!(told.delay <= limit.max_wait().expect("a queue"));
            let other = super::one(hurried, cost, now, before);
            prop_assert_eq!(other.admitted, decision.admitted && (cost == 0 || told.delay <= shorter));
            prop_assert!(other.admitted || told.verdict != Verdict::Pass || other.outcomes[0].verdict != Verdict::Never);
            Ok(())
        })?;
    }
}
