//! Figures of the whole pipeline, made of all stages' outcomes.

use crate::options::{Options, Slow};
use crate::outcome::{Exchanged, Outcome, Spent};
use crate::schedule;
use crate::simulation::{Times, simulate};
use anyhow::Result;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// A stage computes longer than the median stage by this share, or it is not called slow.
const SLOW: f64 = 0.1;

/// Figures of one stage. Shares are of its steps.
#[derive(Debug, Clone, Serialize)]
pub struct StageFigures {
    /// Number of the stage.
    pub stage: usize,
    /// Share in which it computes.
    pub computing: f64,
    /// Share in exchanges, waiting for the neighbour included.
    pub communicating: f64,
    /// Share in exchanges in which data may move: as many exchanges as there were, each as long as the shortest one of
    /// its kind on that link.
    pub transferring: f64,
    /// Share in exchanges without that: the stage waits.
    pub bubble: f64,
    /// What the stage has seen.
    pub outcome: Outcome,
}

/// Figures of the pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Name of the schedule.
    pub schedule: String,
    /// Number of stages.
    pub stages: usize,
    /// Micro-batches of a step.
    pub microbatches: usize,
    /// The stage that was made slow.
    pub slow: Option<Slow>,
    /// Samples per second, one a micro-batch.
    pub samples_per_second: f64,
    /// Matrix products of the whole pipeline, floating-point operations per second. What a slow stage does twice
    /// counts once.
    pub flops: f64,
    /// Share of the stages' time in communication.
    pub communicating: f64,
    /// Share of the stages' time in which they wait for a neighbour.
    pub bubble: f64,
    /// (p-1)/(m+p-1).
    pub formula: f64,
    /// The bubble of the schedule, simulated with the stages' mean times and the links' shortest ones.
    pub simulated: f64,
    /// The stage that computes longest, and how many times as long as the median one; absent if stages are alike.
    pub slowest: Option<(usize, f64)>,
    /// Loss of the first and the last step.
    pub loss: Option<[f64; 2]>,
    /// By stage.
    pub by_stage: Vec<StageFigures>,
}

impl Figures {
    /// Makes the figures. `outcomes` has all stages, in order.
    ///
    /// # Errors
    ///
    /// A deadlock of the simulated schedule, of which tests know none.
    pub fn new(options: &Options, outcomes: Vec<Outcome>) -> Result<Self> {
        let (stages, microbatches) = (options.stages, options.microbatches);
        let links: Vec<[f64; 2]> = outcomes.windows(2).map(|pair| shortest(&pair[0].right, &pair[1].left)).collect();
        let link = |of: Option<usize>, exchanged: &Exchanged| {
            let [message, both] = of.and_then(|place| links.get(place)).copied().unwrap_or_default();
            message * exchanged.message.count as f64 + both * exchanged.both.count as f64
        };
        let by_stage: Vec<StageFigures> = outcomes
            .into_iter()
            .map(|outcome| {
                let share = |seconds: f64| seconds / outcome.steps.seconds.max(f64::MIN_POSITIVE);
                let right = link(Some(outcome.stage), &outcome.right);
                let transferring = share(link(outcome.stage.checked_sub(1), &outcome.left) + right);
                let communicating = share(outcome.communicating());
                StageFigures {
                    stage: outcome.stage,
                    computing: share(outcome.computing()),
                    communicating,
                    transferring,
                    bubble: (communicating - transferring).max(0.0),
                    outcome,
                }
            })
            .collect();
        let of = |figure: fn(&StageFigures) -> f64| -> Vec<f64> { by_stage.iter().map(figure).collect() };
        let times = Times {
            forward: of(|stage| stage.outcome.forward.mean()),
            backward: of(|stage| stage.outcome.backward.mean()),
            message: links.iter().map(|&[message, _]| message).collect(),
            both: links.iter().map(|&[_, both]| both).collect(),
        };
        let step = mean(&of(|stage| stage.outcome.steps.mean())).max(f64::MIN_POSITIVE);
        let (tokens, hidden) = (options.tokens as f64, options.hidden as f64);
        // a backward is twice a forward
        let products = 3.0 * options.layers as f64 * (24.0 * tokens * hidden.powi(2) + 4.0 * tokens.powi(2) * hidden);
        Ok(Self {
            schedule: options.schedule.name().into(),
            stages,
            microbatches,
            slow: options.slow,
            samples_per_second: microbatches as f64 / step,
            flops: products * microbatches as f64 / step,
            communicating: mean(&of(|stage| stage.communicating)),
            bubble: mean(&of(|stage| stage.bubble)),
            formula: schedule::bubble(stages, microbatches),
            simulated: simulate(options.schedule, microbatches, &times)?.bubble,
            slowest: slowest(&of(|stage| stage.outcome.computing())),
            loss: by_stage.last().and_then(|stage| stage.outcome.loss),
            by_stage,
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the shortest message of a link, and the shortest one each way at once: whichever neighbour comes last does
/// not wait, so the shortest time of both ends is that of a transfer alone.
fn shortest(left: &Exchanged, right: &Exchanged) -> [f64; 2] {
    let least = |ends: [&Spent; 2]| ends.iter().filter(|end| end.count > 0).map(|end| end.least).reduce(f64::min);
    [least([&left.message, &right.message]), least([&left.both, &right.both])].map(Option::unwrap_or_default)
}

/// Returns the stage that computes longest and how many times as long as the lower median, unless it is alike.
fn slowest(computing: &[f64]) -> Option<(usize, f64)> {
    let mut sorted = computing.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    let (stage, most) = computing.iter().copied().enumerate().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let times = most / median;
    (times > 1.0 + SLOW).then_some((stage, times))
}

struct Percent(f64);

impl Display for Percent {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        write!(to, "{:.1} %", 100.0 * self.0)
    }
}

impl Display for Figures {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(
            to,
            "| stage | device | step | forward | backward | computing | communicating | transferring | bubble |"
        )?;
        writeln!(to, "|---|---|---|---|---|---|---|---|---|")?;
        for stage in &self.by_stage {
            let outcome = &stage.outcome;
            let [step, forward, backward] =
                [outcome.steps, outcome.forward, outcome.backward].map(|spent| 1e3 * spent.mean());
            let shares = [stage.computing, stage.communicating, stage.transferring, stage.bubble].map(Percent);
            let [computing, communicating, transferring, bubble] = shares;
            write!(to, "| {} | {} | {step:.2} ms | {forward:.2} ms | {backward:.2} ms ", stage.stage, outcome.device)?;
            writeln!(to, "| {computing} | {communicating} | {transferring} | {bubble} |")?;
        }
        writeln!(to, "\n| stage | in flight | sends | receives | MB each | resident MiB | device MiB |")?;
        writeln!(to, "|---|---|---|---|---|---|---|")?;
        for stage in &self.by_stage {
            let outcome = &stage.outcome;
            let (messages, [first, last]) = (outcome.messages, outcome.memory);
            write!(to, "| {} | {} | {} ", stage.stage, outcome.in_flight, messages.sends)?;
            write!(to, "| {} | {:.1} ", messages.receives, messages.bytes as f64 / 1e6)?;
            write!(to, "| {} to {} ", first.resident >> 20, last.resident >> 20)?;
            writeln!(to, "| {} to {} |", first.device >> 20, last.device >> 20)?;
        }
        let slow = self.slow.map_or("-".into(), |slow| format!("{} x {}", slow.stage, slow.factor));
        let [communicating, bubble, formula, simulated] =
            [self.communicating, self.bubble, self.formula, self.simulated].map(Percent);
        write!(to, "\n| schedule | stages | micro-batches | slow | samples/s | TFLOP/s ")?;
        writeln!(to, "| communicating | bubble | formula | simulated |\n|---|---|---|---|---|---|---|---|---|---|")?;
        write!(to, "| {} | {} | {} | {slow} ", self.schedule, self.stages, self.microbatches)?;
        write!(to, "| {:.2} | {:.1} | {communicating} ", self.samples_per_second, self.flops / 1e12)?;
        writeln!(to, "| {bubble} | {formula} | {simulated} |\n")?;
        if let Some([first, last]) = self.loss {
            writeln!(to, "Loss {first:.6} in the first step, {last:.6} in the last one.")?;
        }
        match self.slowest {
            Some((stage, times)) => {
                writeln!(to, "Stage {stage} computes {times:.2} times as long as the median stage.")
            }
            None => writeln!(to, "No stage computes {:.0} % longer than the median stage.", 100.0 * SLOW),
        }?;
        if self.formula > 0.0 {
            let off = self.bubble / self.formula - 1.0;
            writeln!(
                to,
                "Bubble {bubble}; by (p-1)/(m+p-1) {formula}, from which it is off by {:+.1} % of it.",
                100.0 * off
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn spent(count: u64, seconds: f64, least: f64) -> Spent {
        Spent { count, seconds, least, most: seconds }
    }

    /// Two stages, ten steps of one second with two micro-batches. Worked out by hand.
    #[test]
    fn shares_are_those_of_the_steps() {
        let options = Options::parse_from(["pipeline", "--microbatches", "2", "--slow", "1:1.5"]);
        let steps = spent(10, 10.0, 1.0);
        let first = Outcome {
            stage: 0,
            steps,
            forward: spent(20, 2.0, 0.1),
            backward: spent(20, 3.0, 0.15),
            // 0.05 is the other end's
            right: Exchanged { message: spent(20, 2.0, 0.1), both: spent(10, 2.5, 0.2) },
            ..Outcome::default()
        };
        let second = Outcome {
            stage: 1,
            steps,
            forward: spent(20, 3.0, 0.15),
            backward: spent(20, 4.5, 0.2),
            left: Exchanged { message: spent(20, 1.0, 0.05), both: spent(10, 1.5, 0.15) },
            loss: Some([2.0, 1.0]),
            ..Outcome::default()
        };
        let figures = Figures::new(&options, vec![first, second]).unwrap();
        let close = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} {other}");
        close(figures.samples_per_second, 2.0);
        close(figures.formula, 1.0 / 3.0);
        let [first, second] = [0, 1].map(|stage| &figures.by_stage[stage]);
        close(first.computing, 0.5);
        close(first.communicating, 0.45);
        close(first.transferring, (20.0 * 0.05 + 10.0 * 0.15) / 10.0);
        close(first.bubble, 0.2);
        close(second.bubble, 0.0);
        close(figures.bubble, 0.1);
        close(figures.communicating, 0.35);
        let (stage, times) = figures.slowest.unwrap();
        assert_eq!(stage, 1);
        close(times, 1.5);
        let text = figures.to_string();
        assert!(text.contains("| 1f1b | 2 | 2 | 1 x 1.5 | 2.00 |"), "{text}");
        assert!(text.contains("off by -70.0 %"), "{text}");
    }

    #[test]
    fn equal_stages_have_no_slow_one() {
        assert_eq!(slowest(&[1.0, 1.05, 1.0, 1.02]), None);
        assert_eq!(slowest(&[1.0, 1.0, 2.0, 1.0]), Some((2, 2.0)));
        assert_eq!(slowest(&[3.0]), None);
        assert_eq!(slowest(&[]), None);
    }
}
