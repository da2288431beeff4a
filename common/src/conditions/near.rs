//! The processors near the process' GPUs: those of the NUMA nodes that the GPUs are attached to.

use super::gpus;
use crate::base::system_file::{path, read};
use std::collections::BTreeSet;

/// The GPUs, and the processors near to any of them.
#[derive(Debug, Default)]
pub(super) struct NearGpus {
    gpus: Vec<String>,
    processors: BTreeSet<u32>,
}

impl NearGpus {
    /// Returns how many of these processors are near the GPUs; `None` if no GPU is known, or not its place.
    pub(super) fn count(&mut self, allowed: &[u32]) -> Option<u32> {
        let met = gpus::met();
        if met != self.gpus {
            self.processors = met.iter().filter_map(|bus| local_to(bus)).flatten().collect();
            self.gpus = met;
        }
        let near = allowed.iter().filter(|processor| self.processors.contains(processor)).count();
        (!self.processors.is_empty()).then(|| u32::try_from(near).unwrap_or(u32::MAX))
    }
}

/// Returns the processors that are near a PCI device.
fn local_to(bus: &str) -> Option<Vec<u32>> {
    let mut buffer = [0; 4096];
    let file = path(format!("/sys/bus/pci/devices/{}/local_cpulist", bus.to_lowercase()))?;
    Some(of_list(read(&file, &mut buffer)?.trim()))
}

/// Returns the numbers of a list such as `0-3,8`.
fn of_list(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [first.parse::<u32>().ok()?, last.parse::<u32>().ok()?];
        // more than any machine has is nonsense
        (last < 1 << 16).then_some(first..=last)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_understood() {
        assert_eq!(of_list("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(of_list(""), [0; 0]);
        assert_eq!(of_list("5-4294967295,x,7"), [7]);
    }

    #[test]
    fn without_a_gpu_nothing_is_near() {
        assert_eq!(NearGpus::default().count(&[0, 1]), None);
    }
}
