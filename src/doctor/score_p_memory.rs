//! How much of Score-P's memory a trace takes. When none is left, Score-P writes the trace to its file and goes on, but
//! aborts the program at its next new thread.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use crate::installed::probe;
use common::metric::DEFAULT;
use scorep_substrate::counters::MOST_OF_A_TOKEN;
use scorep_substrate::{BUFFER_BYTES, LEFT_BYTES};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Score-P's own default of SCOREP_TOTAL_MEMORY, 16000k, in bytes.
const DEFAULT_MEMORY: u64 = 16_000 << 10;
/// Score-P takes less than 4 GiB.
const MOST: u64 = 4 << 30;
/// What Score-P's own estimate has for a location, bytes.
const LOCATION: u64 = 2 << 20;
/// Score-P's rusage counters, which `all` stands for.
const RUSAGE: usize = 16;
/// Begin of the line of scorep-score's that has the estimate.
const ESTIMATE: &str = "Estimated memory requirements (SCOREP_TOTAL_MEMORY):";

/// Compares Score-P's memory with what the trace takes: by a profile of the program, where there is one in the working
/// directory. `scorer` is Score-P's program that estimates by one. Called where Score-P writes a trace.
pub(super) fn check(around: &Surroundings, profiling: bool, scorer: Option<PathBuf>) -> Option<DoctorFinding> {
    let told = around.text("SCOREP_TOTAL_MEMORY");
    let total = told.as_deref().map_or(Some(DEFAULT_MEMORY), bytes)?;
    let told = told.unwrap_or_else(|| "16000k (Score-P's default)".into());
    let settings = around.settings().0;
    let locations = if settings.lanes.are_wanted() { settings.lane_pairs as u64 + 2 } else { 0 };
    let counters = counters(around, profiling);
    let Some(profile) = newest_profile(around) else {
        // room for at least one communicator, and half of the memory for the trace itself
        let wanted = 2 * (LEFT_BYTES + locations * BUFFER_BYTES);
        return Some(if total < wanted {
            let what = format!(
                "SCOREP_TOTAL_MEMORY is {told}: with tracing each lane takes {} MiB of it, beside the trace",
                BUFFER_BYTES >> 20
            );
            let wanted = wanted.next_power_of_two() >> 20;
            let cure = format!("set it to {wanted}M or more; a profile of the program here says how much");
            DoctorFinding::new(Code::ScorePMemory, what, cure)
        } else {
            DoctorFinding::new(
                Code::ScorePMemoryUnknown,
                "how much of Score-P's memory the trace takes is not known: there is no scorep-*/profile.cubex here",
                "run the program once with SCOREP_ENABLE_TRACING=false, then `scorep-nccl run -- scorep-nccl doctor`",
            )
        });
    };
    let Some(estimate) = scorer.and_then(|scorer| estimate(&scorer, &profile, counters)) else {
        let what = format!("`scorep-score -c {counters} {}` says no amount of memory", profile.display());
        let cure = "run it by hand: its error says why. A Score-P without CubeLib has no scorep-score";
        return Some(DoctorFinding::new(Code::ScorePMemoryUnknown, what, cure));
    };
    let needed = estimate + locations * LOCATION;
    let [all, own, lanes] = [needed, estimate, needed - estimate].map(|bytes| bytes >> 20);
    let profile = profile.display();
    let sum = format!("{all}M: {own}M by `scorep-score -c {counters} {profile}`, and {lanes}M for NCCL's lanes");
    Some(if total >= needed {
        DoctorFinding::good(Code::ScorePGood, format!("SCOREP_TOTAL_MEMORY is {told}; a trace takes {sum}"))
    } else {
        let cure = if needed < MOST && profiling {
            format!("set it to {all}M or more; with SCOREP_ENABLE_PROFILING=false a trace takes less")
        } else if needed < MOST {
            format!("set it to {all}M or more")
        } else {
            "Score-P takes less than 4096M: leave out regions (scorep-score -r shows them, SCOREP_FILTERING_FILE)"
                .into()
        };
        DoctorFinding::new(Code::ScorePMemory, format!("SCOREP_TOTAL_MEMORY is {told}: a trace takes {sum}"), cure)
    })
}

/// Returns the number of counters that Score-P writes at each enter and leave: those of this library if there is a
/// profile, those of other plugins, and Score-P's.
fn counters(around: &Surroundings, profiling: bool) -> usize {
    let plugins = around
        .list("SCOREP_METRIC_PLUGINS")
        .into_iter()
        .map(|name| format!("SCOREP_METRIC_{}", name.trim().to_uppercase()));
    let lists = plugins.chain(["SCOREP_METRIC_PAPI", "SCOREP_METRIC_RUSAGE"].map(str::to_owned));
    let of = |list: &str, token: &str| match (list, token) {
        (_, "") | ("SCOREP_METRIC_NCCL_SERIES_PLUGIN", _) => 0,
        ("SCOREP_METRIC_NCCL_PLUGIN", _) if !profiling => 0,
        ("SCOREP_METRIC_NCCL_PLUGIN", "default") => DEFAULT.len(),
        ("SCOREP_METRIC_NCCL_PLUGIN", "*") => MOST_OF_A_TOKEN,
        ("SCOREP_METRIC_RUSAGE", "all") => RUSAGE,
        _ => 1,
    };
    lists.map(|list| around.list(&list).iter().map(|token| of(&list, token.trim())).sum::<usize>()).sum()
}

/// Returns the newest profile of Score-P's: in the experiment directory that is set, or in the working directory.
fn newest_profile(around: &Surroundings) -> Option<PathBuf> {
    let named =
        around.text("SCOREP_EXPERIMENT_DIRECTORY").map(|directory| PathBuf::from(directory).join("profile.cubex"));
    if let Some(profile) = named.filter(|profile| profile.is_file()) {
        return Some(profile);
    }
    let entries = std::fs::read_dir(".").into_iter().flatten().flatten();
    let experiments = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("scorep-"));
    let profiles = experiments.map(|entry| PathBuf::from(entry.file_name()).join("profile.cubex"));
    let made = |profile: &PathBuf| std::fs::metadata(profile).and_then(|file| file.modified()).ok();
    let newest =
        profiles.filter_map(|profile| Some((made(&profile)?, profile))).max_by_key(|(made, _): &(SystemTime, _)| *made);
    newest.map(|(_, profile)| profile)
}

/// Returns Score-P's own estimate for a trace of a profile's program, bytes.
fn estimate(scorer: &Path, profile: &Path, counters: usize) -> Option<u64> {
    let counters = counters.to_string();
    let arguments = ["-c".as_ref(), counters.as_ref(), profile.as_os_str()];
    let said = probe::program(scorer, &arguments).ok()?;
    bytes(said.lines().find_map(|line| line.strip_prefix(ESTIMATE))?)
}

/// Reads a size as Score-P does, and as it prints one: a number, then nothing, b, k, m or g.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == ' ');
    let shift = match text[digits.len()..].trim().trim_end_matches("ytes").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_score_p_writes_them() {
        assert_eq!(
            ["16000k", "64M", "1g", "100", "12kb", "x", "1t", "   40MB", "77 bytes"]
                .map(bytes)
                .map(Option::unwrap_or_default),
            [16_000 << 10, 64 << 20, 1 << 30, 100, 12 << 10, 0, 0, 40 << 20, 77]
        );
    }

    #[test]
    fn counters_are_counted_as_score_p_reads_them() {
        let plugins = ("SCOREP_METRIC_PLUGINS", "nccl_plugin,nccl_series_plugin,other_plugin");
        let series = ("SCOREP_METRIC_NCCL_SERIES_PLUGIN", "default");
        let of = |tokens: &str, others: &[(&str, &str)]| {
            let own = [plugins, series, ("SCOREP_METRIC_NCCL_PLUGIN", tokens)];
            [true, false].map(|profiling| counters(&Surroundings::of(&[&own, others].concat()), profiling))
        };
        for (tokens, beside_a_profile) in [("default", 3), ("default,nccl_net_bytes", 4), ("*", 20), ("", 0)] {
            assert_eq!(of(tokens, &[]), [beside_a_profile, 0], "{tokens}");
        }
        let others =
            [("SCOREP_METRIC_OTHER_PLUGIN", "a,b"), ("SCOREP_METRIC_PAPI", "X"), ("SCOREP_METRIC_RUSAGE", "all")];
        assert_eq!(of("default", &others), [3 + 2 + 1 + 16, 2 + 1 + 16]);
    }
}
