//! What can be found, each with a code that stays, so that scripts and docs/troubleshooting.md can name it.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// As it should be.
    Good,
    /// Worth knowing; nothing need be done.
    Note,
    /// Something will be missing.
    Warning,
    /// It will not work.
    Failure,
}

macro_rules! codes {
    ($($code:ident = $name:literal, $level:ident;)*) => {
        /// All there are. A heading of docs/troubleshooting.md each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub(crate) enum Code { $(#[serde(rename = $name)] $code),* }

        impl Code {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$code),*];

            /// As it is written.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            /// How bad it is.
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
    ScorePDirectory = "scorep-directory", Warning;
    SettingValue = "setting-value", Warning;
    SettingUnknown = "setting-unknown", Warning;
    SettingPath = "setting-path", Warning;
    ChainMissing = "chain-missing", Warning;
    OtelMissing = "otel-missing", Warning;
    SummaryShared = "summary-shared", Warning;
    SharedMemory = "shared-memory", Warning;
    SlurmExport = "slurm-export", Warning;
    SlurmNode = "slurm-node", Note;
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// Its code.
    pub(crate) code: Code,
    /// How bad it is.
    pub(crate) level: Level,
    /// What is there, and where.
    pub(crate) what: String,
    /// How to mend it; empty where there is nothing to mend.
    pub(crate) cure: String,
}

impl Finding {
    /// One that can be mended.
    pub(crate) fn new(code: Code, what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { code, level: code.level(), what: what.into(), cure: cure.into() }
    }

    /// One that says how it is.
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
