//! `scorep-nccl gpus` on the command line.

use super::chart::Chart;
use super::csv_file::CsvFile;
use super::lines;
use super::reader::{GpuReader, GpuReading};
use super::sampler::Sampler;
use super::textfile::GpusTextfile;
use common::hardware::nics::SYSFS;
use common::origin::now_in_seconds;
use present::output::{self, place};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// What a person may say.
#[derive(Debug, clap::Args)]
#[command(after_help = "NVML counts all processes of a GPU. docs/gpus.md describes the figures.")]
pub struct GpusArguments {
    /// Seconds between two readings.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = |text: &str| output::seconds(text, [0.05, 86_400.0]))]
    interval: f64,
    /// Ends after this many intervals.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Each NVLink of a GPU, too, where NVML counts it.
    #[arg(long)]
    links: bool,
    /// Lines, also in a terminal.
    #[arg(long)]
    lines: bool,
    /// Writes the intervals to this file, too.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Writes a textfile for Prometheus' node_exporter to this directory at each reading.
    #[arg(long, value_name = "DIR")]
    prometheus: Option<PathBuf>,
    /// Says at the end how long the readings took.
    #[arg(long)]
    cost: bool,
    /// Where the kernel shows its network adapters.
    #[arg(long, value_name = "DIR", default_value = SYSFS, hide = true)]
    sysfs: PathBuf,
}

/// Why a file was not written the last time.
#[derive(Default)]
struct Failure(Option<String>);

impl Failure {
    /// Takes the outcome of an attempt, and says on standard error when attempts begin to fail.
    fn take(&mut self, written: Result<(), String>) {
        if let (Err(why), None) = (&written, &self.0) {
            output::say(format_args!("{why}; the next reading tries again"));
        }
        self.0 = written.err();
    }
}

/// Shows GPUs and links of the node until a signal comes, or for a number of intervals. A file that cannot be written
/// keeps it from nothing else.
///
/// # Errors
/// When there is nothing to read, nothing can be shown, a file cannot be made, or one could not be written in the end;
/// in words.
pub fn run(arguments: &GpusArguments) -> Result<(), String> {
    let GpusArguments { interval, count, links, lines, csv, prometheus, cost, sysfs } = arguments;
    if let Some(directory) = prometheus {
        place::check_existing(directory).map_err(|unfit| unfit.to_string())?;
    }
    let (mut gpus, mut adapters) = (GpuReader::start(sysfs, *links), Sampler::of_adapters(sysfs));
    // the zero of all counters
    let _ = adapters.read();
    tell(&gpus.last);
    if gpus.last.gpus.is_empty() && common::hardware::nics::read(sysfs).is_empty() {
        return Err("there is nothing to show: neither a GPU nor a network adapter".into());
    }
    let mut csv = csv.as_deref().map(CsvFile::new).transpose()?;
    let textfile = prometheus.as_deref().map(GpusTextfile::new);
    let mut chart = (!lines && std::io::stdout().is_terminal()).then(Chart::new);
    let mut failures: [Failure; 2] = Default::default();
    let period = Duration::from_secs_f64(*interval);
    let mut next = Instant::now() + period;
    for _ in 0..count.unwrap_or(u64::MAX) {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        // a reading takes a part of the interval, or several intervals
        next = (next + period).max(Instant::now());
        let (of_node, of_adapters) = (gpus.read(), adapters.read());
        let Some(interval) = of_node.or(of_adapters) else { continue };
        let time = now_in_seconds();
        match &mut chart {
            Some(chart) => chart.draw(&time, &interval)?,
            None => output::text(&lines::of(&time, &interval))?,
        }
        if let Some(csv) = &mut csv {
            failures[0].take(csv.add(&time, &interval));
        }
        if let Some(textfile) = &textfile {
            failures[1].take(textfile.write(&gpus, &interval));
        }
    }
    if *cost {
        gpus.last.cost.lines().into_iter().for_each(output::say);
    }
    failures.into_iter().find_map(|failure| failure.0).map_or(Ok(()), Err)
}

/// Says on standard error which figures are absent.
fn tell(gpus: &GpuReading) {
    if let Some(why) = &gpus.absent {
        output::say(format_args!("{why}: no figures of GPUs"));
    }
    for (bus, why) in &gpus.refusals {
        output::say(format_args!("{bus}: no bytes over NVLink: {why}"));
    }
}
