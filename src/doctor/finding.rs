//! The findings. Each has a permanent code, which scripts and docs/troubleshooting.md can name.

use serde::Serialize;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// All is well.
    Good,
    /// Worth knowing; no action is needed.
    Note,
    /// Something will be missing from the measurement.
    Warning,
    /// The measurement will not work.
    Failure,
}

macro_rules! codes {
    ($($code:ident = $name:literal, $level:ident;)*) => {
        /// The codes of all findings. Each has a heading in docs/troubleshooting.md.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub(crate) enum Code { $(#[serde(rename = $name)] $code),* }

        impl Code {
            /// All codes.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$code),*];

            /// Returns the code's name as it is printed.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            /// Returns the code's severity.
            pub(crate) fn level(self) -> Level {
                match self { $(Self::$code => Level::$level),* }
            }
        }
    };
}

codes! {
    LibraryGood = "library", Good;
    LibraryMissing = "library-missing", Failure;
    LibraryBroken = "library-broken", Failure;
    LibraryNotFound = "library-not-found", Failure;
    LibraryCopy = "library-copy", Failure;
    LibraryVersion = "library-version", Warning;
    NcclGood = "nccl", Good;
    NcclMissing = "nccl-missing", Note;
    NcclUnknown = "nccl-unknown", Warning;
    NcclOld = "nccl-old", Failure;
    NcclUntimed = "nccl-untimed", Note;
    NcclNewer = "nccl-newer", Note;
    NcclSeveral = "nccl-several", Warning;
    NcclHang = "nccl-hang", Failure;
    NcclNoGpuTimes = "nccl-no-gpu-times", Warning;
    NcclBroadcast = "nccl-broadcast", Warning;
    NcclAllToAll = "nccl-alltoall", Note;
    NcclKernelCost = "nccl-kernel-cost", Note;
    PluginUnasked = "plugin-unasked", Note;
    PluginNotSet = "plugin-not-set", Failure;
    PluginOther = "plugin-other", Failure;
    ScorePGood = "scorep", Good;
    ScorePMissing = "scorep-missing", Note;
    ScorePSilent = "scorep-silent", Warning;
    ScorePThreads = "scorep-threads", Failure;
    ScorePThreadModel = "scorep-thread-model", Note;
    ScorePVersion = "scorep-version", Warning;
    ScorePLanes = "scorep-lanes", Warning;
    ScorePNotAsked = "scorep-not-asked", Warning;
    ScorePNoSummary = "scorep-no-summary", Warning;
    ScorePBlank = "scorep-blank", Failure;
    ScorePNoCounters = "scorep-no-counters", Warning;
    ScorePCounter = "scorep-counter", Warning;
    ScorePSeries = "scorep-series", Warning;
    ScorePSeriesName = "scorep-series-name", Warning;
    ScorePNothing = "scorep-nothing", Warning;
    ScorePMemory = "scorep-memory", Warning;
    ScorePMemoryUnknown = "scorep-memory-unknown", Note;
    ScorePDirectory = "scorep-directory", Warning;
    SettingsFileGood = "settings-file", Good;
    SettingsFileRefused = "settings-file-refused", Warning;
    SettingsFileLine = "settings-file-line", Warning;
    SettingOrigin = "setting-origin", Good;
    SettingValue = "setting-value", Warning;
    SettingUnknown = "setting-unknown", Warning;
    SettingPath = "setting-path", Warning;
    ChainMissing = "chain-missing", Warning;
    OtelMissing = "otel-missing", Warning;
    SummaryShared = "summary-shared", Warning;
    SharedMemory = "shared-memory", Warning;
    OneProcessor = "one-processor", Note;
    SlurmExport = "slurm-export", Warning;
    SlurmNode = "slurm-node", Note;
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorFinding {
    /// Its code.
    pub(crate) code: Code,
    /// Severity of the code.
    pub(crate) level: Level,
    /// What was found, and where.
    pub(crate) what: String,
    /// How to cure it; empty where there is nothing to cure.
    pub(crate) cure: String,
}

impl DoctorFinding {
    /// Returns a finding with a cure.
    pub(crate) fn new(code: Code, what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { code, level: code.level(), what: what.into(), cure: cure.into() }
    }

    /// Returns a finding without a cure.
    pub(crate) fn good(code: Code, what: impl Into<String>) -> Self {
        Self::new(code, what, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TROUBLESHOOTING: &str = include_str!("../../docs/troubleshooting.md");

    #[test]
    fn every_code_has_its_heading_and_every_heading_its_code() {
        let headings: Vec<&str> =
            TROUBLESHOOTING.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(headings, codes);
    }
}
