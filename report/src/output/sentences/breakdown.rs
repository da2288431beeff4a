//! The sentences about the breakdown of the time.

use super::super::units::{count, counted};
use super::without_kernel;
use crate::answer::{Budget, Report};

/// Says how the breakdown of a report's budget divides the time, and of which GPUs it is: `gpus` of them count.
pub(crate) fn about_breakdown(report: &Report, budget: &Budget, gpus: usize) -> String {
    let period = if budget.of_steps { " and step" } else { "" };
    let mut text = format!("Means of a rank{period}; each instant counts once.");
    let has_kernels = budget.breakdown.gpus.iter().any(|gpu| gpu.has_kernels);
    if has_kernels {
        text += " Communication beside a computation counts as computing.";
        text += &without_kernel(budget);
    } else {
        let were_given = report.complete.inputs.iter().any(|input| input.kind == "kernels");
        let why = if were_given { "are known" } else { "were given (--kernels, --nsys)" };
        text += &format!(
            " Computation is unknown, because no kernels {why}: it is beside NCCL's operations and in the time without \
             NCCL."
        );
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Breakdown, GpuBreakdown, Input};
    use crate::sample::sample;

    fn budget(has_kernels: bool, computed: Option<f64>) -> Budget {
        let gpus = vec![GpuBreakdown { has_kernels, exposed_ns: vec![] }];
        Budget { computed, breakdown: Breakdown { gpus, ..Breakdown::default() }, ..Budget::default() }
    }

    #[test]
    fn steps_without_a_kernel_are_named() {
        let said = |computed| about_breakdown(&sample(2), &budget(true, Some(computed)), 1);
        assert!(said(0.01).contains(" No kernel is known in 99.0 % of the steps"), "{}", said(0.01));
        assert!(!said(1.0).contains("No kernel is known"), "{}", said(1.0));
    }

    #[test]
    fn the_options_are_named_to_those_who_gave_no_kernels() {
        let mut report = sample(2);
        report.complete.inputs.clear();
        let without = about_breakdown(&report, &budget(false, None), 1);
        assert!(without.contains("because no kernels were given (--kernels, --nsys):"), "{without}");
        report.complete.inputs.push(Input { kind: "kernels".into(), ..Input::default() });
        let with = about_breakdown(&report, &budget(false, None), 1);
        assert!(with.contains("because no kernels are known:") && !with.contains("--"), "{with}");
    }
}
