//! Choices that settings offer, by the words of their values.

use serde::Deserialize;
use std::str::FromStr;

/// The service time of each size that the fit goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regression {
    /// The median.
    #[default]
    #[serde(alias = "MEDIAN")]
    Median,
    /// The minimum.
    #[serde(alias = "MIN")]
    Min,
    /// The mean.
    #[serde(alias = "AVG")]
    Avg,
}

/// Event types that NCCL is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// Operations and GPU times.
    Light,
    /// Operations, GPU times, and transfers over the network.
    #[default]
    Network,
    /// Every type.
    Full,
    /// Operations alone.
    Api,
}

impl Preset {
    /// All presets, from the fewest to the most event types.
    pub const ALL: [Self; 4] = [Self::Api, Self::Light, Self::Network, Self::Full];

    /// Returns the preset's name in the setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Network => "network",
            Self::Full => "full",
            Self::Api => "api",
        }
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|preset| preset.name() == name);
        named.ok_or_else(|| format!("it is one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Whether operations get lanes in Score-P's trace and profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneChoice {
    /// In every release of Score-P. One that was not tried is tried in a child process first.
    #[default]
    On,
    /// In the releases that were tried.
    Tried,
    /// In every release, without a trial.
    Always,
    /// No lanes.
    Off,
}

impl LaneChoice {
    /// Returns whether any are wanted.
    pub fn are_wanted(self) -> bool {
        self != Self::Off
    }
}

/// Conditions of the process that are read while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConditionChoice {
    /// Those of its host.
    #[default]
    Host,
    /// Those of its GPUs, too: NVML is asked.
    All,
    /// None.
    Off,
}

/// Source of the GPU's time of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuTime {
    /// NCCL's stamps where they are trusted, CUDA events elsewhere.
    #[default]
    Auto,
    /// The stamps of NCCL's kernels, where they are trusted.
    Stamps,
    /// CUDA events around launches.
    Events,
    /// No GPU times.
    Off,
}

impl GpuTime {
    /// Returns whether stamps are used.
    pub fn has_stamps(self) -> bool {
        matches!(self, Self::Auto | Self::Stamps)
    }

    /// Returns whether CUDA events are used.
    pub fn has_events(self) -> bool {
        matches!(self, Self::Auto | Self::Events)
    }

    /// Returns the source for a process without CUDA, and so without CUDA events.
    pub fn without_events(self) -> Self {
        match self {
            Self::Auto => Self::Stamps,
            Self::Events => Self::Off,
            Self::Stamps | Self::Off => self,
        }
    }

    /// Returns whether some launches get no events where events would cost the job much.
    pub fn is_shared(self) -> bool {
        self == Self::Auto
    }
}
