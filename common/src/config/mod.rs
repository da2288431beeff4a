//! Settings: environment variables `NCCL_SCOREP_*`, read once, parsed by a pure function.

mod choices;
mod table;
mod value;

use crate::base::log::{self, Verbosity};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use value::{mebibytes, not_negative, number, positive, switch};

pub use choices::{GpuTime, Preset, Regression};
pub use table::{SETTINGS, Setting};

/// The settings of this process, read once.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let (settings, complaints) = Settings::from_environment();
        log::set_verbosity(settings.verbosity);
        complaints.iter().for_each(|line| log::warn(line));
        settings
    })
}
/// Characters of a value that a complaint shows.
const SHOWN: usize = 80;

/// Parsed settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// See `NCCL_SCOREP_SUMMARY`.
    pub summary: Option<PathBuf>,
    /// See `NCCL_SCOREP_SUMMARY_SECONDS`.
    pub summary_seconds: f64,
    /// See `NCCL_SCOREP_PRESET`.
    pub preset: Preset,
    /// See `NCCL_SCOREP_MASK`.
    pub mask: Option<u64>,
    /// See `NCCL_SCOREP_MIN_BYTES`.
    pub min_bytes: u64,
    /// See `NCCL_SCOREP_GPU_TIME`.
    pub gpu_time: GpuTime,
    /// See `NCCL_SCOREP_TRUST_NCCL`.
    pub trust_nccl: bool,
    /// See `NCCL_SCOREP_CHAIN`.
    pub chain: Option<String>,
    /// See `NCCL_SCOREP_RECORD`.
    pub record: Option<PathBuf>,
    /// See `NCCL_SCOREP_RECORD_MB`.
    pub record_bytes: usize,
    /// See `NCCL_SCOREP_RECORD_SECONDS`.
    pub record_seconds: f64,
    /// See `NCCL_SCOREP_REGRESSION`.
    pub regression: Regression,
    /// See `NCCL_SCOREP_WINDOW_EVENTS`.
    pub window_events: u32,
    /// See `NCCL_SCOREP_WINDOW_SECONDS`.
    pub window_seconds: f64,
    /// See `NCCL_SCOREP_DEADLINE_SECONDS`.
    pub deadline_seconds: f64,
    /// See `NCCL_SCOREP_SETTLE_SECONDS`.
    pub settle_seconds: f64,
    /// See `NCCL_SCOREP_MEMORY_MB`.
    pub memory_bytes: usize,
    /// See `NCCL_SCOREP_TICK_RATE`.
    pub tick_rate: Option<f64>,
    /// See `NCCL_SCOREP_GPU_TICK`; by the calling library where it is not set.
    pub gpu_tick: Option<u64>,
    /// See `NCCL_SCOREP_LANES`.
    pub lanes: bool,
    /// See `NCCL_SCOREP_LANE_MB`.
    pub lane_bytes: usize,
    /// See `NCCL_SCOREP_LANE_PAIRS`.
    pub lane_pairs: usize,
    /// See `NCCL_SCOREP_HOST_REGIONS`.
    pub host_regions: bool,
    /// See `NCCL_SCOREP_GATHER_KB`.
    pub gather_bytes: usize,
    /// See `NCCL_SCOREP_OTEL`.
    pub otel: bool,
    /// See `NCCL_SCOREP_OTEL_MAX_PEERS`.
    pub otel_most_peers: usize,
    /// See `NCCL_SCOREP_PROM_DIR`.
    pub prom_dir: Option<PathBuf>,
    /// See `NCCL_SCOREP_LOG`.
    pub verbosity: Verbosity,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            summary: None,
            summary_seconds: 60.0,
            preset: Preset::Network,
            mask: None,
            min_bytes: 0,
            gpu_time: GpuTime::Auto,
            trust_nccl: false,
            chain: None,
            record: None,
            record_bytes: 256 << 20,
            record_seconds: 10.0,
            regression: Regression::Median,
            window_events: 50_000,
            window_seconds: 5.0,
            deadline_seconds: 60.0,
            settle_seconds: 0.25,
            memory_bytes: 32 << 20,
            tick_rate: None,
            gpu_tick: None,
            lanes: true,
            lane_bytes: 64 << 20,
            lane_pairs: 8,
            host_regions: false,
            gather_bytes: 1 << 20,
            otel: false,
            otel_most_peers: 64,
            prom_dir: None,
            verbosity: Verbosity::Warn,
        }
    }
}

/// The least time between two writes of the same file.
const SHORTEST: Duration = Duration::from_millis(10);

/// Between two times at which something is written while the process runs; `None` where it is written at the end alone.
fn interval(seconds: f64) -> Option<Duration> {
    // what is longer than any process is at the end
    let interval = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds > 0.0);
    interval.map(|interval| interval.max(SHORTEST))
}

impl Settings {
    /// Between two summaries of a process that runs.
    pub fn summary_interval(&self) -> Option<Duration> {
        interval(self.summary_seconds)
    }

    /// Between two parts of a recording.
    pub fn record_interval(&self) -> Option<Duration> {
        interval(self.record_seconds)
    }

    /// Settings of the process' environment, and what is wrong with them.
    pub fn from_environment() -> (Self, Vec<String>) {
        Self::parse(|name| std::env::var_os(name))
    }

    /// Settings as `lookup` tells them. A value that cannot be understood leaves the default in force and gives one line.
    pub fn parse(lookup: impl Fn(&str) -> Option<OsString>) -> (Self, Vec<String>) {
        // as they are: a path need not be text
        let path = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text =
            |name: &str| lookup(name).map(|value| value.to_string_lossy().trim().to_owned()).filter(|text| !text.is_empty());
        let mut settings = Self {
            summary: path("NCCL_SCOREP_SUMMARY"),
            record: path("NCCL_SCOREP_RECORD"),
            prom_dir: path("NCCL_SCOREP_PROM_DIR"),
            chain: text("NCCL_SCOREP_CHAIN"),
            ..Self::default()
        };
        let mut complaints = Vec::new();
        let mut take = |name: &str, wanted: &str, set: &mut dyn FnMut(&str) -> Option<()>| {
            let Some(value) = lookup(name) else { return };
            let value = value.to_string_lossy();
            let value = value.trim();
            if !value.is_empty() && set(value).is_none() {
                complaints.push(format!("{name}={} is not understood ({wanted}); the default holds", shown(value)));
            }
        };
        take("NCCL_SCOREP_PRESET", "light, network, full or api", &mut |value| {
            settings.preset = Preset::named(value)?;
            Some(())
        });
        take("NCCL_SCOREP_MASK", "a number from 0 to 4294967295, decimal or 0x", &mut |value| {
            settings.mask = Some(u64::from(number(value)?));
            Some(())
        });
        take("NCCL_SCOREP_MIN_BYTES", "a number of bytes", &mut |value| {
            settings.min_bytes = value.parse().ok()?;
            Some(())
        });
        take("NCCL_SCOREP_GPU_TIME", "auto, stamps, events or off", &mut |value| {
            settings.gpu_time = GpuTime::named(value)?;
            Some(())
        });
        take("NCCL_SCOREP_TRUST_NCCL", "on or off", &mut |value| {
            settings.trust_nccl = switch(value)?;
            Some(())
        });
        take("NCCL_SCOREP_RECORD_MB", "a number of MiB from 1 to 65536", &mut |value| {
            settings.record_bytes = mebibytes(value, 65_536)?;
            Some(())
        });
        take("NCCL_SCOREP_REGRESSION", "median, min or avg", &mut |value| {
            settings.regression = match value {
                "median" | "MEDIAN" => Regression::Median,
                "min" | "MIN" => Regression::Min,
                "avg" | "AVG" => Regression::Avg,
                _ => return None,
            };
            Some(())
        });
        take("NCCL_SCOREP_WINDOW_EVENTS", "a number of events from 64 to 100000000", &mut |value| {
            settings.window_events = value.parse().ok().filter(|count| (64..=100_000_000).contains(count))?;
            Some(())
        });
        for (name, seconds) in [
            ("NCCL_SCOREP_SUMMARY_SECONDS", &mut settings.summary_seconds),
            ("NCCL_SCOREP_RECORD_SECONDS", &mut settings.record_seconds),
        ] {
            take(name, "a number of seconds, 0 for the end alone", &mut |value| {
                *seconds = not_negative(value)?;
                Some(())
            });
        }
        for (name, seconds) in [
            ("NCCL_SCOREP_WINDOW_SECONDS", &mut settings.window_seconds),
            ("NCCL_SCOREP_DEADLINE_SECONDS", &mut settings.deadline_seconds),
            ("NCCL_SCOREP_SETTLE_SECONDS", &mut settings.settle_seconds),
        ] {
            take(name, "a positive number of seconds", &mut |value| {
                *seconds = positive(value)?;
                Some(())
            });
        }
        take("NCCL_SCOREP_MEMORY_MB", "a number of MiB from 1 to 8192", &mut |value| {
            settings.memory_bytes = mebibytes(value, 8192)?;
            Some(())
        });
        take("NCCL_SCOREP_TICK_RATE", "a positive number of ticks per second", &mut |value| {
            settings.tick_rate = Some(positive(value)?);
            Some(())
        });
        take("NCCL_SCOREP_GPU_TICK", "a number of nanoseconds from 1 to 1000", &mut |value| {
            settings.gpu_tick = Some(value.parse().ok().filter(|tick| (1..=1000).contains(tick))?);
            Some(())
        });
        take("NCCL_SCOREP_LANES", "on or off", &mut |value| {
            settings.lanes = switch(value)?;
            Some(())
        });
        take("NCCL_SCOREP_LANE_MB", "a number of MiB from 1 to 65536", &mut |value| {
            settings.lane_bytes = mebibytes(value, 65_536)?;
            Some(())
        });
        take("NCCL_SCOREP_LANE_PAIRS", "a number of rank pairs from 0 to 1000", &mut |value| {
            settings.lane_pairs = value.parse().ok().filter(|count| *count <= 1000)?;
            Some(())
        });
        take("NCCL_SCOREP_HOST_REGIONS", "on or off", &mut |value| {
            settings.host_regions = switch(value)?;
            Some(())
        });
        take("NCCL_SCOREP_GATHER_KB", "a number of KiB from 0 to 1048576", &mut |value| {
            let kilobytes: usize = value.parse().ok().filter(|count| *count <= 1 << 20)?;
            settings.gather_bytes = kilobytes << 10;
            Some(())
        });
        take("NCCL_SCOREP_OTEL", "on or off", &mut |value| {
            settings.otel = switch(value)?;
            Some(())
        });
        take("NCCL_SCOREP_OTEL_MAX_PEERS", "a number of rank pairs from 0 to 65536", &mut |value| {
            settings.otel_most_peers = value.parse().ok().filter(|count| *count <= 65_536)?;
            Some(())
        });
        take("NCCL_SCOREP_LOG", "off, warn or info", &mut |value| {
            settings.verbosity = match value {
                "off" => Verbosity::Off,
                "warn" => Verbosity::Warn,
                "info" => Verbosity::Info,
                _ => return None,
            };
            Some(())
        });
        (settings, complaints)
    }
}

/// The beginning of a value, which may be a long one.
fn shown(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &value[..end]).into(),
        None => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::parse(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into()))
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        assert_eq!(parse(&[]), (Settings::default(), vec![]));
        assert_eq!(parse(&[("NCCL_SCOREP_MEMORY_MB", " ")]), (Settings::default(), vec![]));
    }

    #[test]
    fn every_setting_is_read() {
        let values = [
            "/tmp/s.json",
            "0",
            "api",
            "0x46",
            "1024",
            "events",
            "on",
            "inspector",
            "/tmp/r",
            "2",
            "0.5",
            "avg",
            "64",
            "0.5",
            "2",
            "3",
            "8",
            "1e9",
            "10",
            "off",
            "1",
            "2",
            "on",
            "16",
            "on",
            "3",
            "/tmp/prom",
            "info",
        ];
        let pairs: Vec<_> = SETTINGS.iter().map(|setting| setting.name).zip(values).collect();
        let (settings, complaints) = parse(&pairs);
        assert_eq!(complaints, Vec::<String>::new());
        let expected = Settings {
            summary: Some("/tmp/s.json".into()),
            summary_seconds: 0.0,
            preset: Preset::Api,
            mask: Some(0x46),
            min_bytes: 1024,
            gpu_time: GpuTime::Events,
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
            lanes: false,
            lane_bytes: 1 << 20,
            lane_pairs: 2,
            host_regions: true,
            gather_bytes: 16 << 10,
            otel: true,
            otel_most_peers: 3,
            prom_dir: Some("/tmp/prom".into()),
            verbosity: Verbosity::Info,
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_is_not_understood_is_told_and_changes_nothing() {
        let any_text = ["NCCL_SCOREP_SUMMARY", "NCCL_SCOREP_CHAIN", "NCCL_SCOREP_RECORD", "NCCL_SCOREP_PROM_DIR"];
        for setting in SETTINGS.iter().filter(|setting| !any_text.contains(&setting.name)) {
            let (settings, complaints) = parse(&[(setting.name, "-1")]);
            assert_eq!(settings, Settings::default());
            assert_eq!(complaints.len(), 1, "{}", setting.name);
            assert!(complaints[0].contains(setting.name) && complaints[0].contains("-1"));
        }
    }
}
