//! The program: all stages of a machine, or one stage.

use anyhow::{Context, Result};
use clap::Parser;
use pipeline::device::{Cpu, Device, Gpu};
use pipeline::figures::Figures;
use pipeline::launch::{self, Failure};
use pipeline::libraries;
use pipeline::link::{Link, Nccl, Tcp};
use pipeline::options::{Kind, Options};
use pipeline::outcome::Outcome;
use pipeline::rendezvous::{self, Store};
use pipeline::schedule::Side;
use pipeline::{check, stage};
use std::io::Read;
use std::process::ExitCode;

/// Exit status where GPUs or NVIDIA's libraries are not there.
const NO_GPU: u8 = 3;

fn main() -> ExitCode {
    let options = Options::parse();
    let probed = options.probe;
    let stage = options.stage;
    let ended = match (options.checked(), stage) {
        (Err(error), _) => {
            eprintln!("pipeline: {error:#}");
            return ExitCode::from(2);
        }
        (Ok(options), _) if probed => return probe(options.stages),
        (Ok(options), Some(stage)) => one(&options, stage),
        (Ok(options), None) => all(&options),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // who has ended has said why
        Err(Failure::Ended(status)) => ExitCode::from(status),
        Err(Failure::Other(error)) => {
            let who = stage.map_or("pipeline".into(), |stage| format!("pipeline: stage {stage}"));
            eprintln!("{who}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Says whether there are GPUs for the stages, by the exit status, and in one line what is missing.
fn probe(stages: usize) -> ExitCode {
    match libraries::gpus(stages) {
        Ok(_) => ExitCode::SUCCESS,
        Err(missing) => {
            eprintln!("pipeline: {missing:#}");
            ExitCode::from(NO_GPU)
        }
    }
}

/// Runs all stages here and prints the figures. Returns whether all is right.
fn all(options: &Options) -> Result<bool, Failure> {
    let outcomes = launch::all(options)?;
    let verdict = if options.check {
        let alone = launch::all(&options.alone())?;
        alone.first().map(|alone| check::compare(&outcomes, alone))
    } else {
        None
    };
    print(options, outcomes)?;
    if let Some(verdict) = &verdict {
        println!("{verdict}");
    }
    Ok(verdict.is_none_or(|verdict| verdict.wrong.is_empty()))
}

fn print(options: &Options, outcomes: Vec<Outcome>) -> Result<()> {
    let figures = Figures::new(options, outcomes)?;
    let Options { layers, tokens, hidden, .. } = options;
    println!("{layers} layers, {tokens} tokens a micro-batch, {hidden} numbers a token\n\n{figures}");
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&figures)?;
        std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

/// Runs one stage. Without a launcher, the first stage serves the store and prints.
fn one(options: &Options, number: usize) -> Result<bool, Failure> {
    let address = options.address.as_deref().context("--stage needs --address")?;
    let is_first_alone = number == 0 && !options.launched;
    if options.launched {
        std::thread::spawn(end_with_launcher);
    }
    if is_first_alone {
        rendezvous::serve(address)?;
    }
    let mut store = Store::reach(address)?;
    let outcome = match options.device {
        Kind::Cpu => run(options, number, &Cpu, &mut store, Tcp::connect)?,
        Kind::Cuda => {
            let gpus = match libraries::gpus(options.stages) {
                Ok(gpus) => gpus,
                Err(missing) => {
                    eprintln!("pipeline: stage {number}: {missing:#}");
                    return Err(Failure::Ended(NO_GPU));
                }
            };
            run(options, number, &Gpu::open(number % gpus)?, &mut store, Nccl::connect)?
        }
    };
    store.put(&launch::outcome_name(number), &serde_json::to_vec(&outcome)?)?;
    if is_first_alone {
        print(options, launch::outcomes(options, address)?)?;
        store.put("over", &[])?;
    } else if !options.launched {
        // the first stage has all outcomes when it says so, or has gone
        let _ = store.get("over");
    }
    Ok(true)
}

fn run<D: Device, L: Link<D>>(
    options: &Options,
    number: usize,
    device: &D,
    store: &mut Store,
    connect: fn(&mut Store, usize, Side) -> Result<L>,
) -> Result<Outcome> {
    // the pair of stages 0 and 1 first: each stage connects with the left before it does with the right
    let left = number.checked_sub(1).map(|left| connect(store, left, Side::Left)).transpose()?;
    let right = (number + 1 < options.stages).then(|| connect(store, number, Side::Right)).transpose()?;
    stage::run(options, number, device, stage::Links { left, right }, store)
}

/// Ends this process once the launcher has gone: a stage would wait for its neighbours on the GPU for ever.
fn end_with_launcher() {
    let mut nothing = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut nothing);
    std::process::exit(1);
}
