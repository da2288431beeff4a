//! Settings: environment variables `NCCL_SCOREP_*` and a settings file below them, read once and parsed by pure
//! functions.

mod choices;
mod file;
mod given;
mod table;
mod trusted;
mod unknown;
mod value;

use crate::base::log;
use std::sync::OnceLock;
use std::time::Duration;

pub use choices::{ConditionChoice, GpuTime, LaneChoice, Preset, Regression};
pub use file::{FaultKind, FileFault, SettingsFile};
pub use given::GivenSettings;
#[cfg(feature = "otel")]
pub(crate) use given::of_environment;
pub use table::{SETTINGS, Setting, Settings};
pub use unknown::{instead, is_unknown, nearest};
pub use value::is_set;

/// Returns the settings of this process, which the first call reads.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let (settings, complaints) = given::of_process();
        log::set_verbosity(settings.verbosity);
        complaints.into_iter().chain(unknown::complaint()).for_each(|line| log::warn(&line));
        settings
    })
}

/// The least time between two writes of the same file.
const SHORTEST: Duration = Duration::from_millis(10);

/// Returns the time between two writes while the process runs; `None` for a write at the end alone.
fn interval(seconds: f64) -> Option<Duration> {
    // an interval that Duration cannot hold is longer than any process, so it means the end alone
    let interval = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds > 0.0);
    interval.map(|interval| interval.max(SHORTEST))
}

impl Settings {
    /// Returns the time between two summaries while the process runs.
    pub fn summary_interval(&self) -> Option<Duration> {
        interval(self.summary_seconds)
    }

    /// Returns whether requests may change the event types that NCCL is asked for. Not beside a recording: its replay
    /// would not know which types were asked for when.
    pub fn may_switch(&self) -> bool {
        self.status.is_some() && self.record.is_none()
    }

    /// Returns the time between two parts of a recording.
    pub fn record_interval(&self) -> Option<Duration> {
        interval(self.record_seconds)
    }

    /// Returns the bytes that arrivals may take in the summary of a process: a part of what the process may send, since
    /// one reader takes the summaries of all processes.
    pub fn summary_arrivals(&self) -> usize {
        self.gather_bytes / 16
    }

    /// Returns whether figures or callbacks leave the process, Score-P apart.
    pub fn has_output(&self) -> bool {
        let Self { summary, status, record, chain, otel, prom_dir, .. } = self;
        summary.is_some() || status.is_some() || record.is_some() || chain.is_some() || *otel || prom_dir.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::log::Verbosity;

    fn parse(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::parse(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into()))
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        assert_eq!(parse(&[]), (Settings::default(), vec![]));
        assert_eq!(parse(&[("NCCL_SCOREP_MEMORY_MB", " ")]), (Settings::default(), vec![]));
    }

    #[test]
    fn defaults_are_those_that_a_person_sees() {
        let known = SETTINGS.iter().filter(|setting| !setting.default.starts_with('('));
        for setting in known {
            assert_eq!(parse(&[(setting.name, setting.default)]), (Settings::default(), vec![]), "{}", setting.name);
        }
        let Settings { window_events, window_seconds, memory_bytes, lanes, .. } = Settings::default();
        assert_eq!((window_events, window_seconds, memory_bytes, lanes), (50_000, 5.0, 32 << 20, LaneChoice::On));
    }

    #[test]
    fn every_setting_is_read() {
        let pairs = [
            ("NCCL_SCOREP_SETTINGS", "/tmp/settings"),
            ("NCCL_SCOREP_SUMMARY", "/tmp/s.json"),
            ("NCCL_SCOREP_SUMMARY_SECONDS", "0"),
            ("NCCL_SCOREP_STATUS", "/tmp/status"),
            ("NCCL_SCOREP_PRESET", "api"),
            ("NCCL_SCOREP_MASK", "0x46"),
            ("NCCL_SCOREP_MIN_BYTES", "1024"),
            ("NCCL_SCOREP_GPU_TIME", "events"),
            ("NCCL_SCOREP_GRAPH_EVENTS", "4"),
            ("NCCL_SCOREP_TRUST_NCCL", "on"),
            ("NCCL_SCOREP_CHAIN", "inspector"),
            ("NCCL_SCOREP_RECORD", "/tmp/r"),
            ("NCCL_SCOREP_RECORD_MB", "2"),
            ("NCCL_SCOREP_RECORD_SECONDS", "0.5"),
            ("NCCL_SCOREP_REGRESSION", "avg"),
            ("NCCL_SCOREP_WINDOW_EVENTS", "64"),
            ("NCCL_SCOREP_WINDOW_SECONDS", "0.5"),
            ("NCCL_SCOREP_DEADLINE_SECONDS", "2"),
            ("NCCL_SCOREP_SETTLE_SECONDS", "3"),
            ("NCCL_SCOREP_MEMORY_MB", "8"),
            ("NCCL_SCOREP_TICK_RATE", "1e9"),
            ("NCCL_SCOREP_GPU_TICK", "10"),
            ("NCCL_SCOREP_LANES", "off"),
            ("NCCL_SCOREP_LANE_MB", "1"),
            ("NCCL_SCOREP_LANE_PAIRS", "2"),
            ("NCCL_SCOREP_HOST_REGIONS", "on"),
            ("NCCL_SCOREP_GATHER_KB", "16"),
            ("NCCL_SCOREP_OTEL", "on"),
            ("NCCL_SCOREP_OTEL_MAX_PEERS", "3"),
            ("NCCL_SCOREP_PROM_DIR", "/tmp/prom"),
            ("NCCL_SCOREP_NVLINK", "on"),
            ("NCCL_SCOREP_LINKS", "off"),
            ("NCCL_SCOREP_CONDITIONS", "all"),
            ("NCCL_SCOREP_LOG", "info"),
        ];
        assert_eq!(
            pairs.map(|(name, _)| name).as_slice(),
            SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>()
        );
        let (settings, complaints) = parse(&pairs);
        assert_eq!(complaints, Vec::<String>::new());
        let expected = Settings {
            settings_file: Some("/tmp/settings".into()),
            summary: Some("/tmp/s.json".into()),
            summary_seconds: 0.0,
            status: Some("/tmp/status".into()),
            preset: Preset::Api,
            mask: Some(0x46),
            min_bytes: 1024,
            gpu_time: GpuTime::Events,
            graph_events: 4,
            trust_nccl: true,
            chain: Some("inspector".into()),
            record: Some("/tmp/r".into()),
            record_bytes: 2 << 20,
            record_seconds: 0.5,
            regression: Regression::Avg,
            window_events: 64,
            window_seconds: 0.5,
            deadline_seconds: 2.0,
            settle_seconds: 3.0,
            memory_bytes: 8 << 20,
            tick_rate: Some(1e9),
            gpu_tick: Some(10),
            lanes: LaneChoice::Off,
            lane_bytes: 1 << 20,
            lane_pairs: 2,
            host_regions: true,
            gather_bytes: 16 << 10,
            otel: true,
            otel_most_peers: 3,
            prom_dir: Some("/tmp/prom".into()),
            nvlink: true,
            links: false,
            conditions: ConditionChoice::All,
            verbosity: Verbosity::Info,
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_is_not_understood_is_told_and_changes_nothing() {
        let any_text = [
            "NCCL_SCOREP_SETTINGS",
            "NCCL_SCOREP_SUMMARY",
            "NCCL_SCOREP_STATUS",
            "NCCL_SCOREP_CHAIN",
            "NCCL_SCOREP_RECORD",
            "NCCL_SCOREP_PROM_DIR",
        ];
        for setting in SETTINGS.iter().filter(|setting| !any_text.contains(&setting.name)) {
            let (settings, complaints) = parse(&[(setting.name, "-1")]);
            assert_eq!(settings, Settings::default());
            assert_eq!(complaints.len(), 1, "{}", setting.name);
            assert!(complaints[0].contains(setting.name) && complaints[0].contains("-1"));
        }
    }
}
