//! Tables of the breakdown of the time: computing, each dimension of parallelism, neither.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sheet::ReportTable;
use super::super::units::{part_of, share, time};
use report::answer::Budget;

/// A part of the time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BreakdownPart<'a> {
    pub(crate) name: &'a str,
    /// Name of its colour on the page.
    pub(crate) class: &'static str,
    /// By GPU, nanoseconds; `None` where it is not known.
    pub(crate) gpus_ns: Vec<Option<u64>>,
}

/// The parts of the time of all GPUs, and the GPUs that count as the whole.
#[derive(Debug, Clone)]
pub(crate) struct BreakdownParts<'a> {
    budget: &'a Budget,
    pub(crate) parts: Vec<BreakdownPart<'a>>,
    /// The GPUs whose kernels are known; all of them, if none are.
    pub(crate) counted: Vec<usize>,
}

impl<'a> BreakdownParts<'a> {
    /// Returns the parts of a budget: of each GPU, their times add up to its whole time.
    pub(crate) fn of(budget: &'a Budget) -> Self {
        let rows = &budget.breakdown.gpus;
        let is_known = |gpu: usize| rows.get(gpu).is_some_and(|row| row.has_kernels);
        let gpus = || 0..budget.gpus.len();
        let known: Vec<usize> = gpus().filter(|&gpu| is_known(gpu)).collect();
        let has_kernels = !known.is_empty();
        let times = |of: &dyn Fn(usize) -> Option<u64>| gpus().map(of).collect();
        let mut parts = vec![];
        if has_kernels {
            let computed = |gpu: usize| budget.gpus.get(gpu).map(|of| of.computed_ns()).filter(|_| is_known(gpu));
            parts.push(BreakdownPart { name: "computing", class: "computing", gpus_ns: times(&computed) });
        }
        for (place, name) in budget.breakdown.dimensions.iter().enumerate() {
            let exposed = |gpu: usize| rows.get(gpu)?.exposed_ns.get(place).copied();
            parts.push(BreakdownPart { name, class: colour(name), gpus_ns: times(&exposed) });
        }
        let idle = |gpu: usize| budget.gpus.get(gpu).map(|of| of.idle_ns);
        let name = if has_kernels { "idle" } else { "no NCCL" };
        parts.push(BreakdownPart { name, class: "idle", gpus_ns: times(&idle) });
        Self { budget, parts, counted: if has_kernels { known } else { gpus().collect() } }
    }

    /// Returns the time of a GPU in all parts, nanoseconds.
    fn total(&self, gpu: usize) -> u64 {
        self.budget.gpus.get(gpu).map_or(0, |of| of.total_ns)
    }

    /// Returns the share of a GPU's time that a part has; `None` where it is not known.
    pub(crate) fn share(&self, part: &BreakdownPart<'_>, gpu: usize) -> Option<f64> {
        let ns = (*part.gpus_ns.get(gpu)?)?;
        Some(part_of(ns as f64, self.total(gpu) as f64))
    }

    /// Returns the sum of a part over the GPUs that count, nanoseconds.
    fn sum(&self, part: &BreakdownPart<'_>) -> f64 {
        self.counted.iter().filter_map(|&gpu| *part.gpus_ns.get(gpu)?).map(|ns| ns as f64).sum()
    }

    /// Returns the share of a part of the time of all GPUs that count.
    pub(crate) fn of_whole(&self, part: &BreakdownPart<'_>) -> f64 {
        part_of(self.sum(part), self.counted.iter().map(|&gpu| self.total(gpu) as f64).sum())
    }

    /// Returns the GPUs that have the least and the largest share of a part.
    pub(crate) fn ends(&self, part: &BreakdownPart<'_>) -> Option<[(usize, f64); 2]> {
        let shares = || self.counted.iter().filter_map(|&gpu| Some((gpu, self.share(part, gpu)?)));
        let by_share = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
        Some([shares().min_by(by_share)?, shares().rev().max_by(by_share)?])
    }
}

/// Returns the name of a dimension's colour.
fn colour(dimension: &str) -> &'static str {
    match dimension {
        "DP" => "f0",
        "TP" => "f2",
        "PP" => "f3",
        "EP" => "f4",
        "CP" => "f5",
        "unknown" => "f6",
        _ => "f1",
    }
}

/// The parts of the time of all GPUs, with the GPUs that have least and most of each.
pub(crate) fn breakdown<'a>(
    parts: &'a BreakdownParts<'a>,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a BreakdownPart<'a>> {
    let (gpus, steps) = (parts.counted.len().max(1) as f64, parts.budget.steps.max(1) as f64);
    let end = move |part: &BreakdownPart<'_>, side: usize| parts.ends(part).map(|ends| ends[side]);
    ReportTable::new(Chapter::Breakdown.name(), &parts.parts)
        .column("part", "part", |part| part.name, str::to_owned)
        .column("mean", "mean_us", move |part| parts.sum(part) / 1e3 / gpus / steps, time)
        .column("share", "share", move |part| parts.of_whole(part), share)
        .column("least", "least_share", move |part| end(part, 0).map(|(_, it)| it), share)
        .column("least of", "least_gpu", move |part| end(part, 0).and_then(|(gpu, _)| names.known(gpu)), str::to_owned)
        .column("most", "most_share", move |part| end(part, 1).map(|(_, it)| it), share)
        .column("most of", "most_gpu", move |part| end(part, 1).and_then(|(gpu, _)| names.known(gpu)), str::to_owned)
        .without(["least of", "most of"])
}

/// The parts of the time of each GPU.
pub(super) fn by_gpu<'a>(
    parts: &'a BreakdownParts<'a>,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, (usize, &'a BreakdownPart<'a>)> {
    let of_gpu = |gpu: usize| parts.parts.iter().map(move |part| (gpu, part));
    ReportTable::new("breakdown_gpus", (0..parts.budget.gpus.len()).flat_map(of_gpu))
        .value("gpu", |(gpu, _)| names.known(gpu))
        .value("steps", |_| parts.budget.steps)
        .value("steps_with_kernels_share", |_| parts.budget.computed)
        .value("part", |(_, part)| part.name)
        .value("time_ns", |(gpu, part)| part.gpus_ns.get(gpu).copied().flatten())
        .value("share", |(gpu, part)| parts.share(part, gpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::answer::{Breakdown, GpuBreakdown, GpuBudget};

    fn budget() -> Budget {
        let gpu = |computing_ns, overlapped_ns, transferring_ns, idle_ns| GpuBudget {
            total_ns: computing_ns + overlapped_ns + transferring_ns + idle_ns,
            computing_ns,
            overlapped_ns,
            transferring_ns,
            idle_ns,
            ..GpuBudget::default()
        };
        let of_gpu = |has_kernels, exposed_ns: [u64; 2]| GpuBreakdown { has_kernels, exposed_ns: exposed_ns.to_vec() };
        Budget {
            steps: 1,
            gpus: vec![gpu(50, 10, 30, 10), gpu(0, 0, 40, 60), gpu(20, 20, 40, 20)],
            breakdown: Breakdown {
                dimensions: vec!["DP".into(), "unknown".into()],
                gpus: vec![of_gpu(true, [20, 10]), of_gpu(false, [40, 0]), of_gpu(true, [0, 40])],
            },
            ..Budget::default()
        }
    }

    /// A GPU without known kernels has no time of computing, and its idle time is none: it is not in the whole.
    #[test]
    fn the_whole_is_of_gpus_with_known_kernels() {
        let budget = budget();
        let parts = BreakdownParts::of(&budget);
        let by_name: Vec<_> = parts.parts.iter().map(|part| (part.name, part.gpus_ns.clone())).collect();
        let expected = [
            ("computing", vec![Some(60), None, Some(40)]),
            ("DP", vec![Some(20), Some(40), Some(0)]),
            ("unknown", vec![Some(10), Some(0), Some(40)]),
            ("idle", vec![Some(10), Some(60), Some(20)]),
        ];
        assert_eq!(by_name, expected);
        assert_eq!(parts.counted, [0, 2]);
        let of_whole: Vec<f64> = parts.parts.iter().map(|part| parts.of_whole(part)).collect();
        assert_eq!(of_whole, [0.5, 0.1, 0.25, 0.15]);
        assert_eq!(parts.ends(&parts.parts[1]), Some([(2, 0.0), (0, 0.2)]));
    }

    #[test]
    fn without_kernels_nothing_is_idle() {
        let mut budget = budget();
        budget.breakdown.gpus.iter_mut().for_each(|gpu| gpu.has_kernels = false);
        let parts = BreakdownParts::of(&budget);
        assert_eq!(parts.parts.iter().map(|part| part.name).collect::<Vec<_>>(), ["DP", "unknown", "no NCCL"]);
        assert_eq!(parts.counted, [0, 1, 2]);
    }
}
