//! Identity of the process that figures describe, and the times of its measurement. Recordings and summaries of several
//! processes differ in it.
//!
//! A process gets a random number when NCCL calls first. In a replay, figures describe the recorded process; facts that
//! an older recording lacks are unknown.

pub(crate) mod job;
mod nccl_settings;

use crate::base::signal::Blocked;
use crate::base::visible::visible;
use crate::base::{host_name, lock, random, rank};
use crate::hardware::links::{self, ProcessLinks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Longest value of a variable that is kept, bytes.
const LONGEST: usize = 128;

/// Identity of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// A random number that identifies the process, 16 hexadecimal digits.
    pub id: Option<String>,
    /// The recording's file, in a replay.
    pub file: Option<String>,
    /// Name of the machine.
    pub host: Option<String>,
    /// The kernel's random number for the boot of the machine.
    pub boot: Option<String>,
    /// Name of the job, from scheduler and launcher.
    pub job: Option<String>,
    /// Rank in the job, from its variables ([`rank`]).
    pub rank: Option<u32>,
    /// Number of processes of the job, from its variables.
    pub ranks: Option<u32>,
    /// The variables of the rank, the number of ranks and the job, with their values.
    pub variables: BTreeMap<String, String>,
    /// Settings of NCCL's that take ways to run operations away from it (`nccl_settings`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub nccl_settings: BTreeMap<String, String>,
    /// Time of NCCL's first call: wall clock, UTC, in the format of RFC 3339.
    pub started: Option<String>,
    /// Time at which the figures were taken or the recording ended.
    pub ended: Option<String>,
    /// NCCL's release, where it is known; several, separated by commas, if the process has several NCCLs.
    pub nccl: Option<String>,
    /// Version of the profiler interface that NCCL uses; the latest, if the process has several NCCLs.
    pub interface: Option<u32>,
    /// Rates of its links, as far as they were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<ProcessLinks>,
}

/// This process, set when NCCL calls first.
static OWN: OnceLock<Origin> = OnceLock::new();
/// Process id and identity of the process whose recording is replayed.
static RECORDED: OnceLock<(u32, Origin)> = OnceLock::new();
/// Release (where known) and interface version of each NCCL that has called.
static CALLERS: Mutex<Vec<(Option<String>, u32)>> = Mutex::new(Vec::new());

/// Sets this process' identity. Called once, before the first event.
pub(crate) fn begin() {
    OWN.get_or_init(|| Origin { started: Some(now()), ..Origin::of_process() });
}

/// Returns the first release of NCCL that uses a version of the profiler interface, in NCCL's numbering: 22907 is
/// 2.29.7.
pub fn first_release(interface: u32) -> i32 {
    match interface {
        0 | 1 => 22_300,
        2 => 22_400,
        3 => 22_600,
        4 => 22_700,
        5 => 22_800,
        6 => 22_900,
        _ => 23_102,
    }
}

/// Returns a release as people write it: 2.29.7 for 22907.
pub fn dotted(release: i32) -> String {
    format!("{}.{}.{}", release / 10_000, release / 100 % 100, release % 100)
}

/// Notes that an NCCL has called: its release, where known, and its interface version. Not for the hot path.
pub fn met(release: Option<String>, interface: u32) {
    let _whole = Blocked::all();
    let Some(mut callers) = lock::hold(&CALLERS) else { return };
    if !callers.contains(&(release.clone(), interface)) {
        callers.push((release, interface));
    }
}

/// Makes figures describe the recorded process `pid` from now on. `recorded` is an [`Origin`] as JSON; anything else
/// changes nothing.
pub fn replay(pid: u32, recorded: &[u8]) {
    if let Ok(recorded) = serde_json::from_slice(recorded) {
        let _ = RECORDED.set((pid, recorded));
    }
}

/// Returns the process that figures describe, and its process id.
pub fn of_figures() -> (u32, Origin) {
    RECORDED.get().cloned().unwrap_or_else(|| (std::process::id(), own()))
}

impl Origin {
    /// Returns the releases of the NCCLs that have called, in NCCL's numbering: 22907 is 2.29.7.
    pub fn releases(&self) -> impl Iterator<Item = i32> + '_ {
        let number = |release: &str| {
            let mut parts = release.split('.').map(str::parse::<i32>);
            let [major, minor, patch] = std::array::from_fn(|_| parts.next().and_then(Result::ok));
            Some(major? * 10_000 + minor? * 100 + patch?)
        };
        self.nccl.iter().flat_map(|releases| releases.split(", ")).filter_map(number)
    }

    /// Returns the time at which the figures were taken, nanoseconds since 1970; `None` where it is not known.
    pub fn ended_ns(&self) -> Option<i128> {
        Some(OffsetDateTime::parse(self.ended.as_deref()?, &Rfc3339).ok()?.unix_timestamp_nanos())
    }
}

/// Returns whether figures describe a recorded process.
pub fn is_recorded() -> bool {
    RECORDED.get().is_some()
}

/// Returns an environment variable: of the recorded process in a replay whose recording has variables, otherwise of
/// this process.
#[cfg(feature = "otel")]
pub(crate) fn variable(name: &str) -> Option<String> {
    match RECORDED.get() {
        Some((_, recorded)) if recorded.id.is_some() => recorded.variables.get(name).cloned(),
        _ => std::env::var(name).ok(),
    }
}

/// Returns the identity of this process, with the current time as its end.
pub fn own() -> Origin {
    // the lock is held for the copy alone, because an init may wait for it
    let callers = lock::hold(&CALLERS).map(|callers| callers.clone()).unwrap_or_default();
    let releases: Vec<&str> = callers.iter().filter_map(|(release, _)| release.as_deref()).collect();
    Origin {
        ended: Some(now()),
        nccl: (!releases.is_empty()).then(|| releases.join(", ")),
        interface: callers.iter().map(|(_, interface)| *interface).max(),
        links: links::known(),
        ..OWN.get().cloned().unwrap_or_else(Origin::of_process)
    }
}

impl Origin {
    /// Returns the fields that are known, as JSON.
    pub fn known(&self) -> String {
        let mut all = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = all.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        all.to_string()
    }

    /// Like [`Origin::known`], in at most `longest` bytes: without variables and settings if they do not fit, and `{}` if the
    /// rest does not fit either.
    pub fn known_within(&self, longest: usize) -> String {
        let fitting = |origin: Self| Some(origin.known()).filter(|text| text.len() <= longest);
        let without = || Self { variables: BTreeMap::new(), nccl_settings: BTreeMap::new(), ..self.clone() };
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
            nccl_settings: nccl_settings::in_force(|name| Some(kept(&lookup(name)?))),
            ..Self::default()
        }
    }
}

/// Returns the part of a text that is kept, on one line.
fn kept(text: &str) -> String {
    let shown = visible(text);
    let bytes = |(place, letter): &(usize, char)| place + letter.len_utf8() <= LONGEST;
    shown.char_indices().take_while(bytes).map(|(_, letter)| letter).collect()
}

fn boot() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|text| text.trim().to_owned())
}

/// Returns a number for processes to which the system gives no random number. It mixes facts that differ between
/// processes, among them the real time in nanoseconds and the process' start.
fn of_circumstances() -> u64 {
    let mut mixed = DefaultHasher::new();
    (host_name::of_machine(), boot(), std::process::id(), SystemTime::now()).hash(&mut mixed);
    for file in ["/proc/self/stat", "/proc/self/ns/pid"] {
        (std::fs::read(file).ok(), std::fs::read_link(file).ok()).hash(&mut mixed);
    }
    mixed.finish()
}

/// Returns the time since the Epoch.
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Returns the time, UTC, to the microsecond.
pub fn now() -> String {
    wall_clock(since_epoch().as_nanos() as i128).unwrap_or_default()
}

/// Returns the time, UTC, in seconds.
pub fn now_in_seconds() -> String {
    wall_clock(i128::from(since_epoch().as_secs()) * 1_000_000_000).unwrap_or_default()
}

/// Formats nanoseconds of CLOCK_REALTIME as UTC, to the microsecond.
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
