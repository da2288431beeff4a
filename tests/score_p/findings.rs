//! Everything that must hold for a run, and what does not.

use std::collections::BTreeMap;

use serde_json::Value;

use super::captured;
use super::experiment::{COUNTERS, Experiment, REGIONS};
use super::host_regions;
use super::lanes::{self, Rules};
use super::profile::Profile;
use crate::support::summaries;
use crate::support::trace::Trace;

/// Lines on standard error that a run may have: ours are documented in README.md, Score-P's come of a busy machine.
const DOCUMENTED: [&str; 3] = [
    // collectives.*: every all-to-all contains a send to oneself
    "GPU-timed from here on, since NCCL may give them the stamps of others: a send or receive to oneself",
    // a run of a second or two, in which Score-P measures the processor's clock twice
    "Calculated timer (tsc) frequencies differ",
    // Score-P 9.0 of the threads of OpenMPI, in any program
    "Thread after main",
];

/// What is peculiar to a run.
pub(crate) struct Expected {
    pub(crate) tracing: bool,
    pub(crate) profiling: bool,
    pub(crate) rules: Rules,
    /// The status it must end with.
    pub(crate) status: i32,
    /// What the regions are called in the profile; in the trace, those that are not called otherwise there.
    pub(crate) regions: [&'static str; 3],
    /// Counters whose last values in the trace may be less than the summary's: what is learnt at the end only.
    pub(crate) learnt_late: &'static [&'static str],
    /// Whether the application's calls are regions.
    pub(crate) host_regions: bool,
    /// Parts of lines on standard error besides those that every run may have.
    pub(crate) may_say: &'static [&'static str],
}

impl Default for Expected {
    fn default() -> Self {
        let rules = Rules { tolerance_us: 2.0, complete: true };
        Self {
            tracing: true,
            profiling: true,
            rules,
            status: 0,
            regions: REGIONS,
            learnt_late: &["nccl_busy_time"],
            host_regions: false,
            may_say: &[],
        }
    }
}

impl Experiment {
    /// Everything that is wrong with the run; nothing must be.
    pub(crate) fn findings(&self, expected: &Expected) -> Vec<String> {
        if self.status.code() != Some(expected.status) {
            // whatever else is wrong comes of that
            return vec![format!("{}\n{}", self.status, self.said)];
        }
        let captures = self.played();
        let processes = captured::processes(&captures, |capture| self.process_of(capture));
        let replayed = summaries::replay(&captures);
        let own = self.summaries();
        let mut findings = Findings::default();
        let is_documented =
            |line: &&str| DOCUMENTED.iter().chain(expected.may_say).any(|documented| line.contains(documented));
        findings.take("standard error", self.said.lines().filter(|line| !is_documented(line)).map(str::to_owned));
        findings.take("processes' own summaries", summaries::differences(&own, &replayed));
        findings.take("job's summary", summaries::wrong_of_job(&self.path(), processes.len(), &replayed));
        if expected.tracing {
            let trace = Trace::read(&self.path());
            findings.take("trace", trace.disorder());
            findings.take("counters", trace.miscounts(&COUNTERS, !expected.profiling));
            findings.take("enqueued, trace", self.wrong_regions(&in_trace(&trace), expected, true));
            findings.take("last values", wrong_last(&last_in_trace(&trace), &own, expected.learnt_late));
            let (gpu_timed, transfers) = (summaries::gpu_timed(&own), summaries::transfers(&replayed));
            for process in &processes {
                findings.take("lanes", lanes::wrong(&trace, process, &gpu_timed, expected.rules));
                findings.take("pairs", lanes::wrong_pairs(&trace, process, &transfers, expected.rules));
                findings.take("host regions", host_regions::wrong(&trace, process, expected.host_regions));
            }
        }
        if expected.profiling {
            let profile = Profile::read(&self.path());
            findings.take(
                "enqueued, profile",
                self.wrong_regions(&in_profile(&profile, expected.regions), expected, false),
            );
            findings.take("totals", wrong_last(&last_in_profile(&profile), &own, &[]));
            for process in &processes {
                findings.take(
                    "lanes, profile",
                    lanes::wrong_in_profile(&profile, process, expected.rules, expected.tracing),
                );
            }
        }
        findings.0
    }

    /// The captures as far as they were played.
    fn played(&self) -> Vec<std::path::PathBuf> {
        let Some(made) = self.made() else { return self.captures.clone() };
        let copy = self.scratch().join("beginning.jsonl.gz");
        captured::beginning(&self.captures[0], made, &copy);
        vec![copy]
    }

    /// Where the bytes enqueued in the regions are not those that the application tells.
    fn wrong_regions(&self, found: &Regions, expected: &Expected, in_trace: bool) -> Vec<String> {
        let mut wanted = self.enqueued();
        for (region, (&name, shown)) in REGIONS.iter().zip(expected.regions).enumerate() {
            if in_trace && name != shown {
                wanted.values_mut().flatten().for_each(|bytes| bytes[region] = 0);
            }
        }
        wanted.values_mut().for_each(|threads| threads.sort_unstable());
        if *found == wanted { Vec::new() } else { vec![format!("{found:?} instead of {wanted:?}")] }
    }
}

/// What was found to be wrong, each with its part of the run.
#[derive(Default)]
struct Findings(Vec<String>);

/// As many are told of each part.
const TOLD: usize = 6;

impl Findings {
    fn take(&mut self, part: &str, wrong: impl IntoIterator<Item = String>) {
        let mut wrong = wrong.into_iter();
        self.0.extend(wrong.by_ref().take(TOLD).map(|what| format!("{part}: {what}")));
        let more = wrong.count();
        if more > 0 {
            self.0.push(format!("{part}: and {more} more"));
        }
    }
}

/// Bytes enqueued by region for each thread that enqueued some, sorted, by process.
type Regions = BTreeMap<String, Vec<[u64; 3]>>;

fn sorted(threads: impl Iterator<Item = (String, [u64; 3])>) -> Regions {
    let mut regions = Regions::new();
    for (process, bytes) in threads.filter(|(_, bytes)| *bytes != [0; 3]) {
        regions.entry(process).or_default().push(bytes);
    }
    regions.values_mut().for_each(|threads| threads.sort_unstable());
    regions
}

fn in_trace(trace: &Trace) -> Regions {
    sorted(trace.threads().map(|thread| {
        let bytes = REGIONS.map(|region| thread.within(region, "nccl_enqueued_bytes").unwrap_or(0));
        (thread.group.clone(), bytes)
    }))
}

fn in_profile(profile: &Profile, regions: [&str; 3]) -> Regions {
    sorted(profile.threads().map(|(id, thread)| {
        let bytes = regions.map(|region| profile.value(region, id, "nccl_enqueued_bytes") as u64);
        (thread.process.clone(), bytes)
    }))
}

/// The counters' last values of a process, summed over its threads, in the order of [`COUNTERS`].
type Last = BTreeMap<String, [u64; COUNTERS.len()]>;

fn last_in_trace(trace: &Trace) -> Last {
    let mut last = Last::new();
    for thread in trace.threads() {
        let sums = last.entry(thread.group.clone()).or_default();
        sums.iter_mut().zip(COUNTERS).for_each(|(sum, counter)| *sum += thread.last_value(counter));
    }
    last
}

fn last_in_profile(profile: &Profile) -> Last {
    let mut last = Last::new();
    for (id, thread) in profile.threads() {
        let sums = last.entry(thread.process.clone()).or_default();
        sums.iter_mut().zip(COUNTERS).for_each(|(sum, counter)| *sum += profile.total(id, counter) as u64);
    }
    last
}

/// Where the last values are not the summaries'.
fn wrong_last(last: &Last, own: &[Value], learnt_late: &[&str]) -> Vec<String> {
    let mut wanted: Vec<[u64; COUNTERS.len()]> = own
        .iter()
        .map(|summary| {
            COUNTERS.map(|counter| summary["processes"][0]["counters"][counter].as_u64().unwrap_or(u64::MAX))
        })
        .collect();
    let mut found: Vec<[u64; COUNTERS.len()]> = last.values().copied().collect();
    // which summary is which process' does not matter: sorted by the values that must be the same, the same ones stand
    // side by side
    let known: Vec<usize> = (0..COUNTERS.len()).filter(|&place| !learnt_late.contains(&COUNTERS[place])).collect();
    let key = |values: &[u64; COUNTERS.len()]| known.iter().map(|&place| values[place]).collect::<Vec<u64>>();
    found.sort_by_key(key);
    wanted.sort_by_key(key);
    let is_right = |(place, (found, wanted)): (usize, (&u64, &u64))| {
        if learnt_late.contains(&COUNTERS[place]) { found <= wanted } else { found == wanted }
    };
    let all_right = found.len() == wanted.len()
        && found.iter().zip(&wanted).all(|(found, wanted)| found.iter().zip(wanted).enumerate().all(is_right));
    if all_right { Vec::new() } else { vec![format!("{found:?} instead of {wanted:?}")] }
}
