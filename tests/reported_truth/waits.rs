//! Waits of a report against those between CUPTI's kernels, on one clock and on two.

use crate::reported_truth::{CLEAR, Pair, TICKS, pairs, runs};
use crate::support::edited::Edited;
use crate::support::tool;

/// Part of the waits that differ from CUPTI's by no more than their likely error.
const LIKELY: f64 = 0.95;
/// Part of the operations with a rank that is clearly last in which it is known: on one clock, and on two, of which
/// causality says least where all operations take milliseconds.
const KNOWN: [f64; 2] = [0.95, 0.75];

/// Which waits were right.
#[derive(Debug, Default)]
struct Waits {
    all: usize,
    likely: usize,
    /// Those above their likely error.
    resolved: usize,
    resolved_likely: usize,
    clear: usize,
    known: usize,
    wrong: Vec<String>,
}

impl Waits {
    fn add(&mut self, run: &str, pair: &Pair) {
        let [begin, others] = pair.each_ref().map(|(_, span)| span[0]);
        let is_clear = (begin - others).abs() > CLEAR;
        self.clear += usize::from(is_clear);
        // a rank whose kernel is over before the other one begins waits no longer
        let ends = pair.each_ref().map(|(_, span)| span[1]);
        let truth = [others.min(ends[0]) - begin, begin.min(ends[1]) - others].map(|wait| wait.max(0));
        for ((row, _), truth) in pair.iter().zip(truth) {
            let Some(wait) = row.wait else { continue };
            let holds = (wait - truth).abs() <= row.wait_error + TICKS;
            self.all += 1;
            self.likely += usize::from(holds);
            if wait > row.wait_error {
                self.resolved += 1;
                self.resolved_likely += usize::from(holds);
            }
            if row.cost.is_some() {
                // who came last does not wait
                if truth > 0 {
                    self.wrong.push(format!("{run}: rank {} is not last in {row:?}", row.rank));
                } else {
                    self.known += usize::from(is_clear);
                }
            }
        }
    }

    fn check(&self, name: &str, known: f64) {
        tool::say(&format!("{name}: {self:?}"));
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
        let hold = |part: usize, of: usize, share: f64| part as f64 >= share * of as f64;
        assert!(self.resolved > 100 && hold(self.resolved_likely, self.resolved, LIKELY), "{name}: {self:?}");
        assert!(hold(self.likely, self.all, LIKELY) && hold(self.known, self.clear, known), "{name}: {self:?}");
    }
}

#[test]
fn waits_are_those_between_cuptis_kernels() {
    let mut waits = Waits::default();
    for run in runs() {
        pairs(&run, &tool::captures(&tool::run(&run)), &[]).iter().for_each(|pair| waits.add(&run, pair));
    }
    waits.check("one clock", KNOWN[0]);
}

/// As if the second rank were on another machine that booted an hour earlier and has a wrong time of day: its clock is
/// known by causality alone.
#[test]
fn waits_between_two_clocks_are_too() {
    const HOUR: u64 = 3_600_000_000_000;
    let mut waits = Waits::default();
    for run in runs() {
        let mut captures = tool::captures(&tool::run(&run));
        let edited = Edited::of(&captures[1], |line| {
            if line["cb"] == "meta" {
                line["mono0"] = (line["mono0"].as_u64().unwrap() + HOUR).into();
                line["real0"] = (line["real0"].as_u64().unwrap() + 3_000_000).into();
            }
            // times of events are on the clock with the wrong time of day
            for time in ["first", "last"] {
                if let Some(of_day) = line[time].as_u64() {
                    line[time] = (of_day + 3_000_000).into();
                }
            }
        });
        captures[1] = edited.path();
        pairs(&run, &captures, &[]).iter().for_each(|pair| waits.add(&run, pair));
    }
    waits.check("two clocks", KNOWN[1]);
}
