//! The three answers with their verdicts, as fields.

use serde::{Deserialize, Serialize};

/// How an answer is to be taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerVerdict {
    /// Nothing is to be done.
    Fine,
    /// It may be worth a look.
    Look,
    /// It costs much.
    Bad,
    /// The data does not say.
    #[default]
    Unknown,
}

impl AnswerVerdict {
    /// Returns its word for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Look => "look",
            Self::Bad => "bad",
            Self::Unknown => "not known",
        }
    }
}

/// An answer to one of the report's questions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicted {
    /// How it is to be taken.
    pub verdict: AnswerVerdict,
    /// The answer in sentences.
    pub text: String,
    /// What a step would gain without the cause, microseconds.
    pub gain_us: Option<f64>,
    /// What it would gain at least, microseconds.
    #[serde(default)]
    pub gain_least_us: Option<f64>,
    /// What it would gain at most, microseconds.
    #[serde(default)]
    pub gain_most_us: Option<f64>,
    /// `gain_us` as a share of a step, 0 to 1.
    pub gain: Option<f64>,
    /// Since which step, or how often; empty if always or unknown.
    pub when: String,
    /// Why, as far as that is known; empty where it is not.
    pub why: String,
    /// The next step for the reader; empty where there is none.
    pub next: String,
}

/// The answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// Which rank is late?
    pub late: Verdicted,
    /// What does communication cost a step?
    pub cost: Verdicted,
    /// Is the network as fast as it should be?
    pub network: Verdicted,
}
