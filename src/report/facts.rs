//! The arguments of `report` and `compare` that add facts to a job.

use super::links;
use super::request::{StepChoice, UserFacts};
use super::step_times::StepTimes;
use super::text_file;
use report::analysis::speed::Baseline;
use report::job::Links;
use std::path::PathBuf;

/// Facts that a person knows about the job.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Given {
    /// Traces of PyTorch's profiler (Kineto's JSON), one for each rank, for computation beside NCCL.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    kernels: Vec<PathBuf>,
    /// Exports of Nsight Systems (nsys export --type sqlite), for computation beside NCCL.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    nsys: Vec<PathBuf>,
    /// Region of the user's, in Score-P's trace, that is a step. Without it, steps are found by repetition.
    #[arg(long, value_name = "NAME", conflicts_with = "steps")]
    step: Option<String>,
    /// File with a line for each step: BEGIN END, or RANK BEGIN END, in seconds since 1970.
    #[arg(long, value_name = "FILE")]
    steps: Option<PathBuf>,
    /// File that says which communicators serve which dimension of parallelism: DP, TP, PP, EP, CP.
    #[arg(long, value_name = "FILE")]
    dimensions: Option<PathBuf>,
    /// Rate of a GPU's link to other GPUs, Gbit/s, or a file with lines "COMMUNICATOR RATE", with * for all others.
    #[arg(long, value_name = "N|FILE")]
    link_gbps: Option<String>,
    /// JSON of an earlier report (--json): the rates of its operations are expected of these.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

impl Given {
    /// Returns the files of facts.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        let Self { kernels, nsys, steps, dimensions, link_gbps, baseline, .. } = self;
        let links = link_gbps.as_ref().filter(|given| given.parse::<f64>().is_err()).map(PathBuf::from);
        let one = [steps, dimensions, baseline].map(Clone::clone);
        kernels.iter().chain(nsys).cloned().chain(one.into_iter().flatten()).chain(links)
    }

    /// Reads the files of facts.
    ///
    /// # Errors
    /// File, place and cause, in words.
    pub(crate) fn read(self) -> Result<UserFacts, String> {
        let Self { kernels, nsys, step, steps, dimensions, link_gbps, baseline } = self;
        let step = match (step, steps) {
            (Some(name), _) => StepChoice::Region(name),
            (None, Some(file)) => StepChoice::Times(StepTimes::read(&file).map_err(|error| error.to_string())?),
            (None, None) => StepChoice::Found,
        };
        let links = link_gbps.as_deref().map(links::parse).transpose().map_err(|error| error.to_string())?;
        // the name of the rate's source in the report
        let link = link_gbps.map(|given| format!("--link-gbps {given}"));
        let links: Links = links.unwrap_or_default();
        let text = |file: &PathBuf, most| {
            let text = text_file::read(file, most).map_err(|error| error.to_string())?;
            Ok::<_, String>((file.display().to_string(), text))
        };
        let dimensions = dimensions.as_ref().map(|file| text(file, text_file::LINES)).transpose()?;
        let named = |(file, text): (String, String)| {
            let read = Baseline::of_json(&text).map_err(|cause| format!("{file}: {cause}"))?;
            Ok::<_, String>((file, read))
        };
        let baseline =
            baseline.as_ref().map(|file| text(file, text_file::REPORT)).transpose()?.map(named).transpose()?;
        Ok(UserFacts { kernels, nsys, step, dimensions, links, link, baseline })
    }
}
