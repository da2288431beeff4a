//! Which rank is late?

use crate::analysis::stragglers::RESOLVED_US;
use crate::answer::{AnswerVerdict, RankGroup, Report, Straggler, StragglerPause, Stragglers};

/// Share of a step from which on a gain is much.
const LARGE_GAIN: f64 = 0.05;
/// Share of a step from which on random differences between ranks are worth a look.
const NOTABLE_JITTER: f64 = 0.1;
/// Share of a step from which on random differences are spoken of.
const MIN_JITTER: f64 = 0.005;
/// Share of a step that pauses cost from which on they are worth a look.
const NOTABLE_PAUSES: f64 = 0.01;
/// Steps and ranks below which no rank can be an outlier.
const MIN_COMPARED: u64 = 5;

/// What the costs of ranks say.
#[derive(Debug)]
pub enum LateFinding<'a> {
    /// Ranks or nodes are slow, and these stages have more work than others.
    Slow(Vec<&'a Straggler>, Vec<&'a Straggler>),
    /// No rank is slow; these stages have more work than others.
    Uneven(Vec<&'a Straggler>),
    /// One rank paused once.
    Once(&'a StragglerPause),
    /// Steps and ranks are too few to tell a slow rank from chance.
    TooFew,
    /// No rank has own times in enough steps.
    NoOwnTimes,
    /// No two ranks run the same program.
    NoPeers,
    /// No rank is an outlier among those that are here; this number of ranks is missing.
    NobodyOfSome(u64),
    /// No rank is an outlier. Random differences are there if they are worth a word, microseconds of a step.
    Nobody(Option<f64>),
}

/// The verdict on late ranks.
#[derive(Debug)]
pub struct LateVerdict<'a> {
    /// Whom it names.
    pub finding: LateFinding<'a>,
    /// How much it matters.
    pub verdict: AnswerVerdict,
    /// What a step would gain, microseconds.
    pub gain_us: Option<f64>,
    /// What it would gain at least and at most, of one that is slow.
    pub range_us: Option<[f64; 2]>,
    /// The gain as a share of a step.
    pub gain: Option<f64>,
}

impl<'a> LateVerdict<'a> {
    /// Judges the costs of ranks.
    pub fn judge(report: &Report, stragglers: &'a Stragglers) -> Self {
        let (stages, ranks): (Vec<_>, Vec<_>) = stragglers.found.iter().partition(|it| it.group == RankGroup::Stage);
        match (&ranks[..], &stages[..]) {
            ([], []) => Self::nobody(report, stragglers),
            ([], [first, ..]) => {
                let gain_us = first.gain_us.map(|gain| gain.max(0.0));
                Self::with_gain(stragglers, LateFinding::Uneven(stages), AnswerVerdict::Look, gain_us)
            }
            ([first, others @ ..], _) => {
                let gain_us = if others.is_empty() { first.gain_us } else { stragglers.together_us };
                let gain_us = gain_us.map(|gain| gain.max(0.0));
                let range_us = first.range_us().filter(|_| others.is_empty());
                // of several ranks, the one that is sure to gain most
                let sure = ranks.iter().filter_map(|it| it.gain_least_us).reduce(f64::max).or(gain_us);
                let is_much = sure.is_none_or(|gain| stragglers.of_step(gain) >= LARGE_GAIN);
                let verdict = if is_much { AnswerVerdict::Bad } else { AnswerVerdict::Look };
                Self { range_us, ..Self::with_gain(stragglers, LateFinding::Slow(ranks, stages), verdict, gain_us) }
            }
        }
    }

    fn with_gain(
        stragglers: &Stragglers,
        finding: LateFinding<'a>,
        verdict: AnswerVerdict,
        gain_us: Option<f64>,
    ) -> Self {
        let gain = gain_us.map(|us| stragglers.of_step(us));
        Self { finding, verdict, gain_us, range_us: None, gain }
    }

    fn nobody(report: &Report, stragglers: &'a Stragglers) -> Self {
        let bare = |finding, verdict| Self { finding, verdict, gain_us: None, range_us: None, gain: None };
        let pauses_cost = stragglers.of_step(stragglers.events_us) >= NOTABLE_PAUSES;
        if let ([event], 1, None) = (&stragglers.events[..], stragglers.event_count, stragglers.stalls) {
            return bare(LateFinding::Once(event), if pauses_cost { AnswerVerdict::Look } else { AnswerVerdict::Fine });
        }
        let missing = report.complete.ranks.map_or(0, |ranks| ranks.saturating_sub(report.complete.ranks_here));
        let ranks = report.gpus.len() as u64;
        let unknown = match missing {
            0 if stragglers.steps < MIN_COMPARED && (2..MIN_COMPARED).contains(&ranks) => Some(LateFinding::TooFew),
            0 if ranks > 1 && stragglers.compared == 0 => {
                let has_none = stragglers.ranks.iter().all(|rank| rank.own_us == 0.0);
                Some(if has_none { LateFinding::NoOwnTimes } else { LateFinding::NoPeers })
            }
            _ => None,
        };
        if let Some(finding) = unknown {
            return bare(finding, AnswerVerdict::Unknown);
        }
        let jitter_us = stragglers.jitter_us;
        let worth = jitter_us.filter(|&us| stragglers.of_step(us) >= MIN_JITTER && us >= RESOLVED_US);
        let stalls_us = stragglers.stalls.map_or(0.0, |it| it.length_us * it.steps as f64 / it.of.max(1) as f64);
        let is_costly = pauses_cost || stragglers.of_step(stalls_us) >= LARGE_GAIN;
        let (finding, verdict) = match missing {
            0 if is_costly && jitter_us.is_some()
                || worth.is_some_and(|us| stragglers.of_step(us) >= NOTABLE_JITTER) =>
            {
                (LateFinding::Nobody(worth), AnswerVerdict::Look)
            }
            0 => (LateFinding::Nobody(worth), AnswerVerdict::Fine),
            _ => (LateFinding::NobodyOfSome(missing), AnswerVerdict::Unknown),
        };
        Self::with_gain(stragglers, finding, verdict, jitter_us)
    }
}
