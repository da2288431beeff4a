//! The command line.

use crate::schedule::Schedule;
use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// Trains a transformer's layers in a pipeline over NCCL, one process a stage, and prints samples per second, the time
/// in communication, and the bubble.
///
/// Exit status: 0; 1 if a stage fails or --check finds a difference; 2 if the options are wrong; 3 if the GPUs or
/// NVIDIA's libraries are not there.
#[derive(Debug, Clone, Parser)]
#[command(name = "pipeline", version, max_term_width = 100)]
pub struct Options {
    /// Number of stages, each of which is a process
    #[arg(long, default_value_t = 2, value_parser = at_least(1))]
    pub stages: usize,
    /// Micro-batches of a step; each is one sample
    #[arg(long, default_value_t = 8, value_parser = at_least(1))]
    pub microbatches: usize,
    /// Layers of the whole model; the stages share them evenly
    #[arg(long, default_value_t = 8, value_parser = at_least(1))]
    pub layers: usize,
    /// Numbers of a token
    #[arg(long, default_value_t = 4096, value_parser = at_least(1))]
    pub hidden: usize,
    /// Tokens of a micro-batch
    #[arg(long, default_value_t = 2048, value_parser = at_least(1))]
    pub tokens: usize,
    /// Order of forwards and backwards
    #[arg(long, default_value = "1f1b")]
    pub schedule: Schedule,
    /// Steps that are measured
    #[arg(long, default_value_t = 10, value_parser = at_least(1), conflicts_with = "seconds")]
    pub steps: usize,
    /// Measures steps for so long instead
    #[arg(long)]
    pub seconds: Option<u32>,
    /// Steps before, which are not measured
    #[arg(long, default_value_t = 2, value_parser = at_least(1))]
    pub warmup: usize,
    /// Makes a stage so many times as slow: STAGE:FACTOR
    #[arg(long)]
    pub slow: Option<Slow>,
    /// Compares losses, output, gradients and weights with a run of all layers in one process
    #[arg(long)]
    pub check: bool,
    /// Writes all figures to a file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the stages compute
    #[arg(long, default_value = "cuda")]
    pub device: Kind,
    /// Makes each stage a node of its own to NCCL, so that neighbours may share a GPU: they exchange over loopback
    #[arg(long, conflicts_with = "stage")]
    pub pretended_nodes: bool,
    /// Runs this stage alone, on a machine of several; needs --address
    #[arg(long, requires = "address", conflicts_with = "check")]
    pub stage: Option<usize>,
    /// HOST:PORT at which stage 0 listens and the others meet it
    #[arg(long, requires = "stage")]
    pub address: Option<String>,
    /// Another process has started this stage, serves its address, and prints
    #[arg(long, hide = true, requires = "stage")]
    pub launched: bool,
    /// Looks for GPUs and does nothing else
    #[arg(long, hide = true)]
    pub probe: bool,
    /// Puts fingerprints of the results into the outcome, for --check
    #[arg(long, hide = true)]
    pub fingerprints: bool,
}

fn at_least(least: u64) -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(least..=1 << 24)
}

/// Where stages compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// GPUs: cuBLAS and NCCL
    Cuda,
    /// Processors: plain loops and TCP, for tests of small models
    Cpu,
}

/// A stage that is slow on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// Which one.
    pub stage: usize,
    /// How many times as long it computes.
    pub factor: f64,
}

impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = text
            .split_once(':')
            .and_then(|(stage, factor)| Some(Self { stage: stage.parse().ok()?, factor: factor.parse().ok()? }));
        let slow = known.ok_or_else(|| format!("{text:?} is not STAGE:FACTOR, as 1:1.5 is"))?;
        if (1.0..=100.0).contains(&slow.factor) { Ok(slow) } else { Err("the factor lies between 1 and 100".into()) }
    }
}

impl Options {
    /// Checks what several options say together.
    ///
    /// # Errors
    ///
    /// Options that contradict each other, with the way out.
    pub fn checked(self) -> Result<Self> {
        let Self { stages, layers, .. } = self;
        ensure!(
            self.probe || layers.is_multiple_of(stages),
            "{stages} stages cannot share {layers} layers evenly: change --layers"
        );
        if let Some(Slow { stage, .. }) = self.slow {
            ensure!(stage < stages, "--slow names stage {stage} of {stages}: the first one is 0");
        }
        if let Some(stage) = self.stage {
            ensure!(stage < stages, "--stage {stage} of {stages}: the first one is 0");
        }
        ensure!(
            !self.check || self.seconds.is_none(),
            "--check compares runs of as many steps: give --steps in place of --seconds"
        );
        Ok(self)
    }

    /// Returns the options of a run of the same model in one process, for --check.
    pub fn alone(&self) -> Self {
        Self { stages: 1, slow: None, ..self.clone() }
    }

    /// Returns the command line of one stage of this run.
    pub fn arguments(&self, stage: usize, address: &str) -> Vec<String> {
        let mut words = vec!["--launched".into(), format!("--stage={stage}"), format!("--address={address}")];
        words.extend([
            format!("--stages={}", self.stages),
            format!("--microbatches={}", self.microbatches),
            format!("--layers={}", self.layers),
            format!("--hidden={}", self.hidden),
            format!("--tokens={}", self.tokens),
            format!("--schedule={}", self.schedule.name()),
            format!("--warmup={}", self.warmup),
        ]);
        words.push(match self.seconds {
            Some(seconds) => format!("--seconds={seconds}"),
            None => format!("--steps={}", self.steps),
        });
        words.push(match self.device {
            Kind::Cuda => "--device=cuda".into(),
            Kind::Cpu => "--device=cpu".into(),
        });
        words.extend(self.slow.map(|Slow { stage, factor }| format!("--slow={stage}:{factor}")));
        words.extend(self.check.then(|| "--fingerprints".into()));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options> {
        let options = Options::try_parse_from(std::iter::once("pipeline").chain(line.split_whitespace()))?;
        options.checked()
    }

    #[test]
    fn a_stage_is_started_with_the_same_options() {
        let whole = "--stages 4 --microbatches 6 --layers 12 --hidden 96 --tokens 5 --schedule gpipe --warmup 3 \
            --device cpu --slow 2:1.25 --steps 7 --check";
        let whole = parsed(whole).unwrap();
        let line = whole.arguments(3, "127.0.0.1:5").join(" ");
        let stage = parsed(&line).unwrap();
        assert!(stage.launched && stage.fingerprints && !stage.check);
        assert_eq!((stage.stage, stage.address.as_deref()), (Some(3), Some("127.0.0.1:5")));
        let again = Options { stage: None, address: None, launched: false, fingerprints: false, check: true, ..stage };
        assert_eq!(format!("{again:?}"), format!("{whole:?}"));
        let seconds = parsed("--seconds 9").unwrap();
        assert_eq!(parsed(&seconds.arguments(0, "h:1").join(" ")).unwrap().seconds, Some(9));
    }

    #[test]
    fn wrong_options_are_named() {
        for (line, named) in [
            ("--stages 3 --layers 8", "--layers"),
            ("--slow 2:1.5", "--slow"),
            ("--slow 1:0.5", "between"),
            ("--slow 1.5", "STAGE:FACTOR"),
            ("--schedule 2f2b", "1f1b"),
            ("--stages 0", "stages"),
            ("--microbatches 0", "microbatches"),
            ("--stage 1", "--address"),
            ("--stage 2 --address h:1", "--stage 2"),
            ("--steps 3 --seconds 3", "--seconds"),
            ("--check --seconds 3", "--steps"),
            ("--stage 0 --address h:1 --check", "--check"),
        ] {
            let error = format!("{:#}", parsed(line).unwrap_err());
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
