//! Settings: environment variables `NCCL_SCOREP_*`, read once, parsed by a pure function.

use std::path::PathBuf;

/// A setting as a person sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Environment variable.
    pub name: &'static str,
    /// What holds when it is not set.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
}

/// All settings there are.
pub const SETTINGS: [Setting; 8] = [
    Setting {
        name: "NCCL_SCOREP_SUMMARY",
        default: "(none)",
        meaning: "File that the process' summary is written to at its end, as JSON; %p stands for the process id, %h for the host.",
    },
    Setting {
        name: "NCCL_SCOREP_REGRESSION",
        default: "min",
        meaning: "What transfer rate and latency are fitted through: the fastest time of each size (min) or all transfers (avg).",
    },
    Setting {
        name: "NCCL_SCOREP_WINDOW_EVENTS",
        default: "50000",
        meaning: "Events after which a communicator's window closes.",
    },
    Setting { name: "NCCL_SCOREP_WINDOW_SECONDS", default: "5", meaning: "Seconds after which a communicator's window closes." },
    Setting {
        name: "NCCL_SCOREP_DEADLINE_SECONDS",
        default: "60",
        meaning: "Seconds that a closed window waits for its events in progress; those left are counted as unfinished.",
    },
    Setting {
        name: "NCCL_SCOREP_MEMORY_MB",
        default: "32",
        meaning: "Recording memory of the process in MiB; it is committed as it is used. When it is full, events are dropped and counted.",
    },
    Setting { name: "NCCL_SCOREP_TICK_RATE", default: "(measured)", meaning: "Ticks per second of Score-P's clock." },
    Setting { name: "NCCL_SCOREP_LOG", default: "warn", meaning: "What is written to standard error: off, warn or info." },
];

/// What the regression goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Regression {
    /// The fastest time of each size.
    #[default]
    Min,
    /// All transfers.
    Avg,
}

/// What is written to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verbosity {
    /// Nothing.
    Off,
    /// What went wrong.
    #[default]
    Warn,
    /// Also what was found.
    Info,
}

/// Parsed settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// See `NCCL_SCOREP_SUMMARY`.
    pub summary: Option<PathBuf>,
    /// See `NCCL_SCOREP_REGRESSION`.
    pub regression: Regression,
    /// See `NCCL_SCOREP_WINDOW_EVENTS`.
    pub window_events: u32,
    /// See `NCCL_SCOREP_WINDOW_SECONDS`.
    pub window_seconds: f64,
    /// See `NCCL_SCOREP_DEADLINE_SECONDS`.
    pub deadline_seconds: f64,
    /// See `NCCL_SCOREP_MEMORY_MB`.
    pub memory_bytes: usize,
    /// See `NCCL_SCOREP_TICK_RATE`.
    pub tick_rate: Option<f64>,
    /// See `NCCL_SCOREP_LOG`.
    pub verbosity: Verbosity,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            summary: None,
            regression: Regression::Min,
            window_events: 50_000,
            window_seconds: 5.0,
            deadline_seconds: 60.0,
            memory_bytes: 32 << 20,
            tick_rate: None,
            verbosity: Verbosity::Warn,
        }
    }
}

impl Settings {
    /// Settings of the process' environment, and what is wrong with them.
    pub fn from_environment() -> (Self, Vec<String>) {
        Self::parse(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Settings as `lookup` tells them. A value that cannot be understood leaves the default in force and gives one line.
    pub fn parse(lookup: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut complaints = Vec::new();
        let mut settings = Self::default();
        let mut take = |name: &str, wanted: &str, set: &mut dyn FnMut(&str) -> Option<()>| {
            let Some(value) = lookup(name) else { return };
            let value = value.trim();
            if !value.is_empty() && set(value).is_none() {
                complaints.push(format!("{name}={value} is not understood ({wanted}); the default holds"));
            }
        };
        let positive = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        take("NCCL_SCOREP_SUMMARY", "a path", &mut |value| {
            settings.summary = Some(PathBuf::from(value));
            Some(())
        });
        take("NCCL_SCOREP_REGRESSION", "min or avg", &mut |value| {
            settings.regression = match value {
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
        take("NCCL_SCOREP_WINDOW_SECONDS", "a positive number of seconds", &mut |value| {
            settings.window_seconds = positive(value)?;
            Some(())
        });
        take("NCCL_SCOREP_DEADLINE_SECONDS", "a positive number of seconds", &mut |value| {
            settings.deadline_seconds = positive(value)?;
            Some(())
        });
        take("NCCL_SCOREP_MEMORY_MB", "a number of MiB from 1 to 8192", &mut |value| {
            let megabytes: usize = value.parse().ok().filter(|count| (1..=8192).contains(count))?;
            settings.memory_bytes = megabytes << 20;
            Some(())
        });
        take("NCCL_SCOREP_TICK_RATE", "a positive number of ticks per second", &mut |value| {
            settings.tick_rate = Some(positive(value)?);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::parse(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        assert_eq!(parse(&[]), (Settings::default(), vec![]));
        assert_eq!(parse(&[("NCCL_SCOREP_MEMORY_MB", " ")]), (Settings::default(), vec![]));
    }

    #[test]
    fn every_setting_is_read() {
        let values = ["/tmp/s.json", "avg", "64", "0.5", "2", "8", "1e9", "info"];
        let pairs: Vec<_> = SETTINGS.iter().map(|setting| setting.name).zip(values).collect();
        let (settings, complaints) = parse(&pairs);
        assert_eq!(complaints, Vec::<String>::new());
        let expected = Settings {
            summary: Some("/tmp/s.json".into()),
            regression: Regression::Avg,
            window_events: 64,
            window_seconds: 0.5,
            deadline_seconds: 2.0,
            memory_bytes: 8 << 20,
            tick_rate: Some(1e9),
            verbosity: Verbosity::Info,
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_is_not_understood_is_told_and_changes_nothing() {
        for setting in &SETTINGS[1..] {
            let (settings, complaints) = parse(&[(setting.name, "-1")]);
            assert_eq!(settings, Settings::default());
            assert_eq!(complaints.len(), 1, "{}", setting.name);
            assert!(complaints[0].contains(setting.name) && complaints[0].contains("-1"));
        }
    }
}
