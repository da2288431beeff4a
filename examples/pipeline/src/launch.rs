//! Starts the stages of one machine, waits for them, and ends the others when one fails.

use crate::libraries::{LOOPBACK, Links, NODE};
use crate::options::{Kind, Options};
use crate::outcome::Outcome;
use crate::rendezvous::{self, Store};
use anyhow::{Context, Result};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often the stages are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Why a run has no outcome.
#[derive(Debug)]
pub enum Failure {
    /// A process has ended with this status, and has said why.
    Ended(u8),
    /// Anything else.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Runs all stages as processes of this machine, and returns their outcomes in order.
///
/// # Errors
///
/// A stage's status if one has failed; the others are ended then.
pub fn all(options: &Options) -> Result<Vec<Outcome>, Failure> {
    let links = if options.device == Kind::Cuda { Some(Links::new()?) } else { None };
    if links.is_some() {
        // one process says in one line what all stages would miss
        let mut probe = command(links.as_ref())?;
        pretend(&mut probe, options, 0);
        let ended = probe.args(["--probe", &format!("--stages={}", options.stages)]).status()?;
        succeeded("the look for GPUs", ended)?;
    }
    let address = rendezvous::serve(("127.0.0.1", 0))?.to_string();
    let mut stages = Stages(Vec::new());
    for stage in 0..options.stages {
        let mut command = command(links.as_ref())?;
        command.args(options.arguments(stage, &address)).stdin(Stdio::piped());
        // where NCCL's profiler, and others, look for a process' place in the job
        for (name, value) in [("RANK", stage), ("LOCAL_RANK", stage), ("WORLD_SIZE", options.stages)] {
            command.env(name, value.to_string());
        }
        pretend(&mut command, options, stage);
        stages.0.push(command.spawn().with_context(|| format!("stage {stage} does not start"))?);
    }
    stages.wait()?;
    Ok(outcomes(options, &address)?)
}

/// Returns all stages' outcomes from the store, in order.
///
/// # Errors
///
/// The store has gone.
pub fn outcomes(options: &Options, address: &str) -> Result<Vec<Outcome>> {
    let mut store = Store::reach(address)?;
    let outcome = |stage| Ok(serde_json::from_slice(&store.get(&outcome_name(stage))?)?);
    (0..options.stages).map(outcome).collect()
}

/// Returns the name of a stage's outcome in the store.
pub fn outcome_name(stage: usize) -> String {
    format!("outcome.{stage}")
}

/// This program, which finds NVIDIA's libraries.
fn command(links: Option<&Links>) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("this program does not find itself")?);
    command.envs(links.map(Links::variable));
    Ok(command)
}

/// Makes a stage's process a node of its own to NCCL, if that is wanted.
fn pretend(command: &mut Command, options: &Options, stage: usize) {
    if options.pretended_nodes {
        command.env(NODE, format!("stage{stage}")).envs(LOOPBACK);
    }
}

fn succeeded(what: &str, status: ExitStatus) -> Result<(), Failure> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Ended(u8::try_from(code).unwrap_or(1))),
        None => Err(anyhow::anyhow!("{what} was ended: {status}").into()),
    }
}

/// The stages' processes. Each ends, too, when its standard input does: also if this process is killed.
struct Stages(Vec<Child>);

impl Stages {
    /// Waits until all have succeeded, or one has not.
    fn wait(&mut self) -> Result<(), Failure> {
        let mut running: Vec<_> = self.0.iter_mut().enumerate().collect();
        while !running.is_empty() {
            let mut left = Vec::new();
            for (stage, child) in running {
                match child.try_wait()? {
                    Some(status) => succeeded(&format!("stage {stage}"), status)?,
                    None => left.push((stage, child)),
                }
            }
            running = left;
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // one that has ended is no error
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
