//! One measurement, in a process of its own: a number of threads plays a script against a plugin.

use super::drive::{Latencies, Player, Unwatched};
use super::floor;
use super::process::{self, processor_ns};
use super::script::{Script, ScriptCommunicator};
use crate::host::table::{HostIntroduction, InterfaceTable, NEWEST, OLDEST};
use crate::{capture, output};
use common::clock::{Clock, monotonic};
use hdrhistogram::Histogram;
use libloading::os::unix::Library;
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_int, c_ulong, c_void};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Barrier;

/// Name of the hidden subcommand that starts a measurement.
pub(crate) const COMMAND: &str = "bench-one";
/// Name of the plugin that does nothing; it is no library.
pub(crate) const EMPTY: &str = "empty";
/// Name of the plugin that only records; it is no library.
pub(crate) const LIMIT: &str = "limit";
/// Longest wait for a plugin to finish its work on the events, milliseconds.
const PATIENCE: u32 = 60_000;

/// What it is told.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureArguments {
    /// A library, or `empty` or `limit`.
    plugin: String,
    capture: PathBuf,
    #[arg(long)]
    threads: usize,
    #[arg(long)]
    communicators: usize,
    #[arg(long)]
    repeat: u64,
    #[arg(long)]
    interface: Option<u32>,
    /// Time each call, too.
    #[arg(long)]
    latency: bool,
}

/// Results of a measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Version of the interface.
    pub(crate) interface: u32,
    /// Number of calls of all threads.
    pub(crate) calls: u64,
    /// Number of calls that start an event.
    pub(crate) starts: u64,
    /// Mean time of a call over the threads, ns, with the driver's own time.
    pub(crate) ns_per_call: f64,
    /// Time from the first thread's begin to the last thread's end.
    pub(crate) wall_ns: u64,
    /// Processor time of the driver's threads.
    pub(crate) driver_processor_ns: u64,
    /// Processor time of the rest of the process: the plugin's threads, and the calls of init and finalize.
    pub(crate) other_processor_ns: u64,
    /// Time to load the library and to make the first init.
    pub(crate) first_init_ns: u64,
    /// Largest memory of the process without the driver's own.
    pub(crate) memory_kib: u64,
    /// Latencies of single calls, where they were measured.
    pub(crate) latency: Option<Latency>,
    /// The plugin's own counts, if it is this project's.
    pub(crate) recorded: Option<RecordedCounts>,
}

/// Counts from the library's summary. They show whether a plugin was fast because it dropped events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecordedCounts {
    /// Number of callbacks that the plugin got.
    pub(crate) callbacks: u64,
    /// Number of starts among the callbacks.
    pub(crate) events: u64,
    /// Number of callbacks for which the plugin had no room.
    pub(crate) dropped: u64,
}

/// Latencies of single calls, in ns, with the driver's reading of the clock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// Median.
    pub(crate) p50: f64,
    /// 99th percentile.
    pub(crate) p99: f64,
    /// 99.99th percentile.
    pub(crate) p9999: f64,
    /// Longest call.
    pub(crate) max: f64,
}

/// Measures a plugin and writes the results to standard output.
pub(crate) fn run(arguments: &MeasureArguments) -> ExitCode {
    let text =
        measure(arguments).and_then(|measured| serde_json::to_string(&measured).map_err(|error| error.to_string()));
    match text {
        Ok(text) => output::answered(output::write(text + "\n")),
        Err(message) => {
            output::line(message);
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &MeasureArguments) -> Result<Measured, String> {
    let clock = Clock::new();
    clock.mark();
    let without_library = process::resident_kib();
    let begun = monotonic();
    let (library, table) = open(arguments)?;
    let opening = monotonic().saturating_sub(begun);
    let image = process::resident_kib().saturating_sub(without_library);

    let capture = capture::read(&arguments.capture).map_err(|error| error.to_string())?;
    let script = Script::new(&capture, table.api);
    drop(capture);
    let driver_kib = process::forget_peak_kib();
    let processor_before = processor_ns(libc::RUSAGE_SELF);
    let begun = monotonic();
    let mut first_init = 0;
    let mut contexts = vec![Vec::new(); arguments.communicators];
    for copy in &mut contexts {
        for communicator in &script.communicators {
            copy.push(init(&table, communicator).map_err(|what| format!("{}: {what}", arguments.plugin))?);
            if first_init == 0 {
                first_init = monotonic().saturating_sub(begun);
            }
        }
    }
    // ticks, each of a nanosecond or less, up to half a minute, with three digits
    let none = Histogram::new_with_bounds(1, 1 << 36, 3).map_err(|error| error.to_string())?;
    let driven = drive(arguments, &clock, table, &script, &contexts, &none);
    for &context in contexts.iter().flatten() {
        // SAFETY: the plugin gave these contexts, and each is finalized once.
        unsafe { (table.functions.finalize)(context as *mut c_void) };
    }
    // work that the plugin still has to do on the events is part of its cost
    library.as_ref().inspect(|library| catch_up(library));
    let processor = processor_ns(libc::RUSAGE_SELF).saturating_sub(processor_before);

    let sum = |of: fn(&Driven) -> u64| driven.iter().map(of).sum::<u64>();
    let driver_processor_ns = sum(|thread| thread.processor_ns);
    let times = arguments.communicators as u64 * arguments.repeat * driven.len() as u64;
    let calls = script.steps.len() as u64 * times;
    let begin = driven.iter().map(|thread| thread.begin).min().unwrap_or(0);
    let end = driven.iter().map(|thread| thread.end).max().unwrap_or(0);
    Ok(Measured {
        interface: table.api,
        calls,
        starts: script.starts as u64 * times,
        ns_per_call: sum(|thread| thread.end - thread.begin) as f64 / calls as f64,
        wall_ns: end - begin,
        driver_processor_ns,
        other_processor_ns: processor.saturating_sub(driver_processor_ns),
        first_init_ns: opening + first_init,
        memory_kib: image + process::peak_kib().saturating_sub(driver_kib),
        latency: arguments.latency.then(|| latency(&driven, none, &clock)),
        recorded: None,
    })
}

fn open(arguments: &MeasureArguments) -> Result<(Option<Library>, InterfaceTable), String> {
    let newest = arguments.interface.unwrap_or(NEWEST);
    let path = match arguments.plugin.as_str() {
        EMPTY => return Ok((None, InterfaceTable { api: newest, functions: floor::EMPTY })),
        LIMIT => return Ok((None, InterfaceTable { api: newest, functions: floor::LIMIT })),
        path => Path::new(path),
    };
    let versions = arguments.interface.unwrap_or(OLDEST)..=newest;
    let (library, table) = InterfaceTable::load(path, versions).map_err(|error| error.to_string())?;
    Ok((Some(library), table))
}

/// NCCL's function for log lines; it ignores them. Plugins call it without a check for NULL. C lets the variadic
/// arguments go unread.
unsafe extern "C" fn quiet(_: c_int, _: c_ulong, _: *const c_char, _: c_int, _: *const c_char) {}

fn init(table: &InterfaceTable, communicator: &ScriptCommunicator) -> Result<u64, String> {
    if table.functions.init.is_null() {
        return Ok(1);
    }
    let ScriptCommunicator { comm, name, shape: [nnodes, nranks, rank] } = communicator;
    table.init(&HostIntroduction {
        comm: *comm,
        name: name.as_deref(),
        nnodes: *nnodes,
        nranks: *nranks,
        rank: *rank,
        logger: quiet as *const c_void,
    })
}

/// Waits until the plugin has done its work, if it has a function for that.
fn catch_up(library: &Library) {
    // SAFETY: the symbol is one of this project's own library and has this type.
    if let Ok(flush) = unsafe { library.get::<unsafe extern "C" fn(u32) -> c_int>(b"scorep_nccl_flush") } {
        // SAFETY: the function takes any number of milliseconds.
        unsafe { flush(PATIENCE) };
    }
}

/// Results of one playing thread.
struct Driven {
    /// Begin, in ns of CLOCK_MONOTONIC.
    begin: u64,
    /// End, in ns of CLOCK_MONOTONIC.
    end: u64,
    processor_ns: u64,
    /// Latencies of single calls, in ticks.
    latencies: Histogram<u64>,
}

fn drive(
    arguments: &MeasureArguments,
    clock: &Clock,
    table: InterfaceTable,
    script: &Script,
    contexts: &[Vec<u64>],
    none: &Histogram<u64>,
) -> Vec<Driven> {
    let barrier = Barrier::new(arguments.threads);
    let play = || {
        let mut player = Player::new(table.functions, script, contexts);
        let mut latencies = Latencies { clock, ticks: none.clone() };
        // what a plugin does at a thread's first callback is no part of the cost of a callback
        // SAFETY: NCCL passes NULL for an event without a handle, so a plugin accepts it.
        unsafe { (table.functions.stop)(std::ptr::null_mut()) };
        barrier.wait();
        let (processor, begin) = (processor_ns(libc::RUSAGE_THREAD), monotonic());
        for _ in 0..arguments.repeat {
            if arguments.latency {
                player.play(&mut latencies);
            } else {
                player.play(&mut Unwatched);
            }
        }
        let end = monotonic();
        let processor_ns = processor_ns(libc::RUSAGE_THREAD).saturating_sub(processor);
        Driven { begin, end, processor_ns, latencies: latencies.ticks }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..arguments.threads).map(|_| scope.spawn(play)).collect();
        let own = play();
        std::iter::once(own).chain(others.into_iter().filter_map(|thread| thread.join().ok())).collect()
    })
}

fn latency(driven: &[Driven], mut all: Histogram<u64>, clock: &Clock) -> Latency {
    for thread in driven {
        // all histograms have the same range, so the addition cannot fail
        let _ = all.add(&thread.latencies);
    }
    let scale = clock.nanoseconds_per_tick().unwrap_or(1.0);
    let at = |percentage| all.value_at_percentile(percentage) as f64 * scale;
    Latency { p50: at(50.0), p99: at(99.0), p9999: at(99.99), max: all.max() as f64 * scale }
}
