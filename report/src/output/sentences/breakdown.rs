//! The sentences about the breakdown of the time.

use super::super::units::{count, counted};
use crate::answer::Budget;

/// Says how the breakdown divides the time, and of which GPUs it is: `gpus` of them count.
pub(crate) fn about_breakdown(budget: &Budget, gpus: usize) -> String {
    let period = if budget.of_steps { " and step" } else { "" };
    let mut text = format!("Means of a rank{period}; each instant counts once.");
    let has_kernels = budget.breakdown.gpus.iter().any(|gpu| gpu.has_kernels);
    text += if has_kernels {
        " Communication beside a computation counts as computing."
    } else {
        " Computation is unknown, because no kernels were given (--kernels, --nsys): it is beside NCCL's operations and \
         in the time without NCCL."
    };
    if budget.breakdown.dimensions.len() > 1 {
        text += " Dimensions that communicate at once share the time evenly.";
    }
    if gpus < budget.gpus.len() {
        text += &format!(
            " Only the {} count whose kernels are known, of {}.",
            counted(gpus as u64, "rank"),
            count(budget.gpus.len() as u64)
        );
    }
    text
}
