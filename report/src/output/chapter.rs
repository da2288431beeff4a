//! The tables of a report, by name: the same on the terminal, on the page, in CSV and in Parquet.

/// A table of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chapter {
    /// Inputs and communicators that lack something.
    Complete,
    /// The steps of the job.
    Steps,
    /// Where the time goes, by rank.
    Budget,
    /// The time by computing, dimension of parallelism and neither.
    Breakdown,
    /// The operations of each dimension of parallelism.
    Dimensions,
    /// Windows between phases of communication.
    Phases,
    /// Own times by rank.
    Ranks,
    /// Pauses of ranks.
    Events,
    /// Conditions of the processes and their GPUs.
    Conditions,
    /// Findings of a watch.
    Findings,
    /// Waits and delay costs by rank.
    Late,
    /// The operations that others waited for longest.
    Worst,
    /// Times and rates by function, communicator and size.
    Speed,
    /// Transfers between pairs of ranks.
    Pairs,
    /// Transfers over the network by state.
    States,
    /// Transfers over the network of an operation.
    Transfers,
    /// The communicators.
    Communicators,
    /// The operations by the user's tags.
    Tags,
    /// NCCL's own choices, by its log.
    Nccl,
    /// Where ranks stand in communicators that are not over.
    Unfinished,
}

impl Chapter {
    /// All tables, in the order of the report.
    pub const ALL: [Self; 20] = [
        Self::Complete,
        Self::Steps,
        Self::Budget,
        Self::Breakdown,
        Self::Dimensions,
        Self::Phases,
        Self::Ranks,
        Self::Events,
        Self::Conditions,
        Self::Findings,
        Self::Late,
        Self::Worst,
        Self::Speed,
        Self::Pairs,
        Self::States,
        Self::Transfers,
        Self::Communicators,
        Self::Tags,
        Self::Nccl,
        Self::Unfinished,
    ];

    /// Returns its name on the command line and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Steps => "steps",
            Self::Budget => "budget",
            Self::Breakdown => "breakdown",
            Self::Dimensions => "dimensions",
            Self::Phases => "phases",
            Self::Ranks => "ranks",
            Self::Events => "events",
            Self::Conditions => "conditions",
            Self::Findings => "findings",
            Self::Late => "late",
            Self::Worst => "worst",
            Self::Speed => "speed",
            Self::Pairs => "pairs",
            Self::States => "states",
            Self::Transfers => "transfers",
            Self::Communicators => "communicators",
            Self::Tags => "tags",
            Self::Nccl => "nccl",
            Self::Unfinished => "unfinished",
        }
    }

    /// Returns the table of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|chapter| chapter.name() == name)
    }

    /// Returns its heading for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Complete => "Is all there?",
            Self::Steps => "Steps",
            Self::Budget => "Budget by rank",
            Self::Breakdown => "Breakdown by dimension of parallelism",
            Self::Dimensions => "Operations by dimension of parallelism",
            Self::Phases => "Windows between phases",
            Self::Ranks => "Own time by rank",
            Self::Events => "Pauses",
            Self::Conditions => "Conditions by rank",
            Self::Findings => "Findings of a watch",
            Self::Late => "Waits by rank",
            Self::Worst => "Operations that others waited for longest",
            Self::Speed => "Speed by function, communicator and size",
            Self::Pairs => "Pairs of ranks",
            Self::States => "Network transfers by state",
            Self::Transfers => "Network transfers of an operation",
            Self::Communicators => "Communicators",
            Self::Tags => "Operations by tag",
            Self::Nccl => "NCCL's own choices",
            Self::Unfinished => "Not over",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        for chapter in Chapter::ALL {
            assert_eq!(Chapter::of(chapter.name()), Some(chapter));
        }
        assert_eq!(Chapter::of("swim"), None);
    }
}
