//! The tables of a report, by name: the same on the terminal, on the page, in CSV and in Parquet.

/// Makes the type of a list of tables in their order in the report, each with its name and its heading.
macro_rules! chapters {
    ($($chapter:ident $name:literal $title:literal,)*) => {
        /// A table of the report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Chapter {
            $(#[doc = $title] $chapter,)*
        }

        impl Chapter {
            /// All tables, in the order of the report.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$chapter),*];

            /// Returns its name on the command line and in file names.
            pub fn name(self) -> &'static str {
                match self { $(Self::$chapter => $name,)* }
            }

            /// Returns its heading for people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$chapter => $title,)* }
            }
        }
    };
}

chapters! {
    Complete "complete" "Is all there?",
    Steps "steps" "Steps",
    Budget "budget" "Budget by rank",
    Breakdown "breakdown" "Breakdown by dimension of parallelism",
    Dimensions "dimensions" "Operations by dimension of parallelism",
    Phases "phases" "Windows between phases",
    Ranks "ranks" "Own time by rank",
    Events "events" "Pauses",
    Conditions "conditions" "Conditions by rank",
    Findings "findings" "Findings of a watch",
    Late "late" "Waits by rank",
    Worst "worst" "Operations that others waited for longest",
    Speed "speed" "Speed by function, communicator and size",
    Pairs "pairs" "Pairs of ranks",
    States "states" "Network transfers by state",
    Transfers "transfers" "Network transfers of an operation",
    Communicators "communicators" "Communicators",
    Tags "tags" "Operations by tag",
    Nccl "nccl" "NCCL's own choices",
    Unfinished "unfinished" "Not over",
}

impl Chapter {
    /// Returns the table of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|chapter| chapter.name() == name)
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
