//! Both layouts decide the same, on every field, through made-up histories of several limits, edits and refunds. In these
//! the clock goes forward: one that steps back past the end of a state may find it in one layout and not in the other.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use weir_limiter::{Algorithm, Batch, Check, Decision, Limit, Receipt, Timestamp, test_clock};

use crate::Subject;
use crate::histories::{Cost, Gap, START, costs, edits, gaps};
use crate::layout::{DIGEST, Layout};

/// Of each limit.
const KEYS: usize = 3;

/// A request, its checks by limit, key, version of the limit and cost; then what of an earlier charge is given back.
type Entry = (Vec<(usize, usize, usize, Cost)>, Option<prop::sample::Index>);
/// One call: the clock moves on, then come its entries.
type Call = (Gap, Vec<Entry>);

/// Several versions of a limit whose states are fields.
fn versions() -> impl Strategy<Value = Vec<Limit>> {
    edits().prop_filter("a log is one string in both", |edits| edits[0].algorithm() != Algorithm::SlidingLog)
}

pub(crate) fn both_layouts_decide_the_same() {
    let mut subjects = Layout::ALL.map(Subject::start);
    let check = (0..2_usize, 0..KEYS, 0..3_usize, costs());
    let entry = (prop::collection::vec(check, 1..4), any::<Option<prop::sample::Index>>());
    let calls = prop::collection::vec((gaps(false), prop::collection::vec(entry, 1..6)), 1..30);
    let (mut history, mut decided) = (0, 0);
    let mut runner = TestRunner::default();
    let histories = (prop::collection::vec(versions(), 2), calls);
    let inputs: Vec<(Vec<Vec<Limit>>, Vec<Call>)> =
        (0..1_000).map(|_| histories.new_tree(&mut runner).expect("a history").current()).collect();
    for (limits, calls) in inputs {
        history += 1;
        let (mut now, mut last) = (START, None);
        let mut charges = [vec![], vec![]];
        for (gap, entries) in calls {
            now = gap.after(now, &limits[0][0], last.as_ref());
            let replies: Vec<_> = subjects
                .iter_mut()
                .zip(&mut charges)
                .map(|(subject, charges)| subject.answer(history, now, &limits, &entries, charges))
                .collect();
            let told = |reply: &(Vec<Decision>, Vec<bool>)| format!("{:?} {:?}", without_receipts(&reply.0), reply.1);
            assert_eq!(told(&replies[0]), told(&replies[1]), "history {history}: {limits:?} {entries:?}");
            decided += replies[0].0.len();
            last = replies.into_iter().next().and_then(|(mut decisions, _)| decisions.pop());
        }
    }
    println!("{history} histories, {decided} decisions: the same in both layouts");
}

fn without_receipts(decisions: &[Decision]) -> Vec<String> {
    let outcomes = decisions.iter().flat_map(|decision| &decision.outcomes);
    outcomes.map(|o| format!("{:?} {} {:?} {:?} {:?}", o.verdict, o.remaining, o.reset, o.more, o.delay)).collect()
}

impl Subject {
    fn answer(
        &mut self,
        history: usize,
        now: u64,
        limits: &[Vec<Limit>],
        entries: &[Entry],
        charges: &mut Vec<(String, Receipt)>,
    ) -> (Vec<Decision>, Vec<bool>) {
        let (mut batch, mut asked) = (Batch::new(), Vec::new());
        for (request, refund) in entries {
            let checks: Vec<_> = request
                .iter()
                .map(|(of, key, version, cost)| {
                    let limit = limits[*of][*version];
                    Check { key: format!("{history}:{of}:{key:0DIGEST$}"), limit, cost: cost.of(&limit) }
                })
                .collect();
            batch.push(&checks);
            if let Some(which) = refund.filter(|_| !charges.is_empty()) {
                let (key, receipt) = charges.swap_remove(which.index(charges.len()));
                batch.push_refund(key, receipt);
            }
            asked.push(checks);
        }
        // 40 days: by then what any window had is in none that an edit might carry it into
        let clock = test_clock(Timestamp::from_micros(now), 40 * 86_400_000);
        let command = self.layout.command(&self.digest, &batch, Some(clock));
        let reply: Vec<u8> = command.query(&mut self.client.connection).expect("the script never fails");
        let mut reply = batch.read_reply(&reply).expect("a reply to this batch");
        for (checks, decision) in asked.into_iter().zip(&mut reply.decisions) {
            let taken = checks.into_iter().zip(&mut decision.outcomes);
            charges.extend(taken.filter_map(|(check, outcome)| Some((check.key, outcome.receipt.take()?))));
        }
        (reply.decisions, reply.refunds)
    }
}
