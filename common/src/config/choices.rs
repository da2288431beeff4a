//! What settings choose from.

/// What time of each size the fit of service times goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Regression {
    /// The median.
    #[default]
    Median,
    /// The minimum.
    Min,
    /// The mean.
    Avg,
}

impl Regression {
    /// The one that is written so in the setting.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "median" | "MEDIAN" => Some(Self::Median),
            "min" | "MIN" => Some(Self::Min),
            "avg" | "AVG" => Some(Self::Avg),
            _ => None,
        }
    }
}

/// Which event types are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// Operations and GPU times.
    Light,
    /// These, and transfers over the network.
    #[default]
    Network,
    /// Every type.
    Full,
    /// Operations alone.
    Api,
}

impl Preset {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Api, Self::Light, Self::Network, Self::Full];

    /// The one that is written so in the setting.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// As it is written in the setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Network => "network",
            Self::Full => "full",
            Self::Api => "api",
        }
    }
}

/// What tells the GPU's time of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GpuTime {
    /// Stamps where they are believed, events elsewhere.
    #[default]
    Auto,
    /// The stamps of NCCL's kernels, where they are believed.
    Stamps,
    /// CUDA's events around launches.
    Events,
    /// Nothing.
    Off,
}

impl GpuTime {
    const NAMES: [(&str, Self); 4] =
        [("auto", Self::Auto), ("stamps", Self::Stamps), ("events", Self::Events), ("off", Self::Off)];

    /// The one that is written so in the setting.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// Whether stamps do.
    pub fn has_stamps(self) -> bool {
        matches!(self, Self::Auto | Self::Stamps)
    }

    /// Whether events do.
    pub fn has_events(self) -> bool {
        matches!(self, Self::Auto | Self::Events)
    }

    /// The same where there is no CUDA, and so none of its events.
    pub fn without_events(self) -> Self {
        match self {
            Self::Auto => Self::Stamps,
            Self::Events => Self::Off,
            Self::Stamps | Self::Off => self,
        }
    }

    /// Whether events are left out where they would cost the job much.
    pub fn is_shared(self) -> bool {
        self == Self::Auto
    }
}
