//! The breakdown of the time by computing, dimension of parallelism and neither.

use super::sums::GpuSums;
use crate::answer::{Breakdown, Dimension, GpuBreakdown};

/// The names of dimensions in their order. Words of the user's follow, in the order of communicators.
const ORDER: [&str; 5] = ["DP", "TP", "PP", "EP", "CP"];

/// Makes the breakdown of all GPUs. Dimensions of one name are one, wherever they are known from; one without exposed
/// communication on any GPU is left out.
pub(super) fn of(sums: &[GpuSums], distinct: &[Dimension], has_kernels: &dyn Fn(usize) -> bool) -> Breakdown {
    let is_exposed = |number: usize| sums.iter().any(|of_gpu| of_gpu.exposed.get(number).is_some_and(|&ns| ns > 0));
    let mut names: Vec<&str> = vec![];
    for (number, dimension) in distinct.iter().enumerate() {
        if is_exposed(number) && !names.contains(&dimension.name.as_str()) {
            names.push(&dimension.name);
        }
    }
    names.sort_by_key(|name| match ORDER.iter().position(|known| known == name) {
        Some(place) => place,
        None if *name == "unknown" => ORDER.len() + 1,
        None => ORDER.len(),
    });
    let of_gpu = |(gpu, of_gpu): (usize, &GpuSums)| {
        let mut exposed_ns = vec![0; names.len()];
        for (dimension, ns) in distinct.iter().zip(&of_gpu.exposed) {
            if let Some(place) = names.iter().position(|name| *name == dimension.name) {
                exposed_ns[place] += ns;
            }
        }
        GpuBreakdown { has_kernels: has_kernels(gpu), exposed_ns }
    };
    let gpus = sums.iter().enumerate().map(of_gpu).collect();
    Breakdown { dimensions: names.into_iter().map(str::to_owned).collect(), gpus }
}
