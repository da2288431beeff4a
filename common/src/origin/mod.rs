//! Which process figures are of, and when they were taken: what tells recordings and summaries of many processes apart.
//!
//! A process has a random number, made when NCCL calls first. In a replay it is the recorded process that figures are
//! of; what an older recording does not say of it is not known.

pub(crate) mod job;

use crate::base::visible::visible;
use crate::base::{host_name, lock, random, rank};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock};
use std::time::SystemTime;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Bytes of a variable's value that are kept.
const LONGEST: usize = 128;

/// What is known of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// A number that no other process has, 16 hexadecimal digits.
    pub id: Option<String>,
    /// The recording, in a replay.
    pub file: Option<String>,
    /// Name of the machine.
    pub host: Option<String>,
    /// The kernel's random number of the machine's boot.
    pub boot: Option<String>,
    /// The job, as scheduler and launcher call it.
    pub job: Option<String>,
    /// Rank in the job, by its variables ([`rank`]).
    pub rank: Option<u32>,
    /// Processes of the job, by its variables.
    pub ranks: Option<u32>,
    /// The variables that say so, and those of the job.
    pub variables: BTreeMap<String, String>,
    /// When NCCL called first: wall clock, UTC, as RFC 3339 has it.
    pub started: Option<String>,
    /// When these figures were taken, or the recording ended.
    pub ended: Option<String>,
    /// NCCL's release, where it is known.
    pub nccl: Option<String>,
    /// The version of the profiler interface that NCCL speaks.
    pub interface: Option<u32>,
}

/// This process, since NCCL called first.
static OWN: OnceLock<Origin> = OnceLock::new();
/// The process whose recording is replayed, and its process id.
static RECORDED: OnceLock<(u32, Origin)> = OnceLock::new();
/// The NCCLs that have called: releases, where they are known, and interface versions.
static CALLERS: Mutex<Vec<(Option<String>, u32)>> = Mutex::new(Vec::new());

/// The process begins to record. Once, before the first event.
pub(crate) fn begin() {
    OWN.get_or_init(|| Origin { started: Some(now()), ..Origin::of_process() });
}

/// An NCCL calls: its release, where that is known, and the version of the interface that it speaks. Not for the hot
/// path.
pub fn met(release: Option<String>, interface: u32) {
    let Some(mut callers) = lock::hold(&CALLERS) else { return };
    if !callers.contains(&(release.clone(), interface)) {
        callers.push((release, interface));
    }
}

/// From here on, figures are of that process, whose recording is replayed. What is no [`Origin`] as JSON changes
/// nothing.
pub fn replay(pid: u32, recorded: &[u8]) {
    if let Ok(recorded) = serde_json::from_slice(recorded) {
        let _ = RECORDED.set((pid, recorded));
    }
}

/// The process that figures are of, and its process id.
pub fn of_figures() -> (u32, Origin) {
    RECORDED.get().cloned().unwrap_or_else(|| (std::process::id(), own()))
}

/// A variable of the recorded process in a replay, where its recording has variables; of this process otherwise.
#[cfg(feature = "otel")]
pub(crate) fn variable(name: &str) -> Option<String> {
    match RECORDED.get() {
        Some((_, recorded)) if recorded.id.is_some() => recorded.variables.get(name).cloned(),
        _ => std::env::var(name).ok(),
    }
}

/// This process, until now.
pub fn own() -> Origin {
    // held for the copy alone: an init may wait for it
    let callers = lock::hold(&CALLERS).map(|callers| callers.clone()).unwrap_or_default();
    let releases: Vec<&str> = callers.iter().filter_map(|(release, _)| release.as_deref()).collect();
    Origin {
        ended: Some(now()),
        nccl: (!releases.is_empty()).then(|| releases.join(", ")),
        interface: callers.iter().map(|(_, interface)| *interface).max(),
        ..OWN.get().cloned().unwrap_or_else(Origin::of_process)
    }
}

impl Origin {
    /// What is known of it, as JSON.
    pub fn known(&self) -> String {
        let mut all = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = all.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        all.to_string()
    }

    /// The same in that many bytes: without its variables where they do not fit, and nothing where the rest does not.
    pub fn known_within(&self, longest: usize) -> String {
        let fitting = |origin: Self| Some(origin.known()).filter(|text| text.len() <= longest);
        let without = || Self { variables: BTreeMap::new(), ..self.clone() };
        fitting(self.clone()).or_else(|| fitting(without())).unwrap_or_else(|| "{}".into())
    }

    fn of_process() -> Self {
        let lookup = |name: &str| std::env::var(name).ok();
        let rank::Told { rank, ranks, .. } = rank::told();
        let names = rank::variables().chain(job::variables());
        Self {
            id: Some(format!("{:016x}", random::of_kernel().unwrap_or_else(of_circumstances))),
            host: Some(kept(&String::from_utf8_lossy(&host_name::of_machine()))),
            boot: boot().map(|boot| kept(&boot)),
            job: job::name(lookup).map(|name| kept(&name)),
            rank,
            ranks,
            variables: names.filter_map(|name| Some((name.to_owned(), kept(&lookup(name)?)))).collect(),
            ..Self::default()
        }
    }
}

/// As much of a text as is kept, on one line.
fn kept(text: &str) -> String {
    let shown = visible(text);
    let bytes = |(place, letter): &(usize, char)| place + letter.len_utf8() <= LONGEST;
    shown.char_indices().take_while(bytes).map(|(_, letter)| letter).collect()
}

fn boot() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|text| text.trim().to_owned())
}

/// Where the system denies random numbers, or has none yet: what no two processes have in common, mixed. The real time
/// is among it, to the nanosecond, and the process' start.
fn of_circumstances() -> u64 {
    let mut mixed = DefaultHasher::new();
    (host_name::of_machine(), boot(), std::process::id(), SystemTime::now()).hash(&mut mixed);
    for file in ["/proc/self/stat", "/proc/self/ns/pid"] {
        (std::fs::read(file).ok(), std::fs::read_link(file).ok()).hash(&mut mixed);
    }
    mixed.finish()
}

fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    wall_clock(since.as_nanos() as i128).unwrap_or_default()
}

/// Nanoseconds of CLOCK_REALTIME as UTC, to the microsecond.
pub fn wall_clock(nanoseconds: i128) -> Option<String> {
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds / 1000 * 1000).ok()?.format(&Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::shortage::tests::without_memory;

    #[test]
    fn a_number_is_the_processs_own_with_random_numbers_and_without() {
        assert_ne!(of_circumstances(), of_circumstances());
        begin();
        assert_eq!((own().id, own().started), (own().id, own().started));
        assert_eq!(own().id.unwrap().len(), 16);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_is_out_of_memory_and_holds_the_callers() {
        without_memory("origin::tests::nobody_waits_for_a_thread_that_is_out_of_memory_and_holds_the_callers", || {
            let _held = CALLERS.lock().unwrap();
            met(Some("2.29.1".into()), 6);
            assert_eq!((own().nccl, own().interface), (None, None));
        });
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(wall_clock(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(wall_clock(1_795_151_123_423_032_583).unwrap(), "2026-11-20T05:05:23.423032Z");
        assert_eq!(wall_clock(i128::MAX), None);
    }

    #[test]
    fn what_is_kept_is_short_and_of_one_line() {
        assert_eq!(kept("a\nb\u{1b}"), r"a\nb\u{1b}");
        assert_eq!(kept(&"\u{e4}".repeat(LONGEST)).len(), LONGEST);
    }

    #[test]
    fn what_does_not_fit_is_left_out_the_variables_first() {
        let variables: BTreeMap<_, _> = (0..9).map(|number| (format!("V{number}"), "\"".repeat(LONGEST))).collect();
        let origin = Origin { host: Some("a".into()), variables, ..Origin::default() };
        assert_eq!(origin.known_within(1 << 20), origin.known());
        assert_eq!(origin.known_within(1000), r#"{"host":"a","variables":{}}"#);
        assert_eq!(origin.known_within(10), "{}");
    }

    #[test]
    fn what_is_not_known_is_null_and_may_be_absent() {
        let text = serde_json::to_string(&Origin::default()).unwrap();
        assert!(text.contains(r#""host":null"#), "{text}");
        assert_eq!(serde_json::from_str::<Origin>("{}").unwrap(), Origin::default());
    }
}
