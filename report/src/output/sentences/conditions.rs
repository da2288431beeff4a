//! The sentences above the table of conditions.

use super::super::units::counted;
use crate::answer::Conditions;

/// Returns the time that the figures are of, and the meaning of those whose headings do not say it.
pub(in crate::output) fn about_conditions(conditions: &Conditions) -> String {
    let time = if conditions.of_steps { "the steps behind the warm-up" } else { "all the time that is known" };
    let mut text = format!(
        "Conditions of {} over {time}, as shares of that time. Launching threads, those that enqueue NCCL's operations, \
         were running, waiting for a processor, or blocked; of several threads, these are means.",
        counted(conditions.processes, "process")
    );
    if conditions.rows.iter().any(|row| row.power_capped.or(row.hot).or(row.power_brake).is_some()) {
        text += " The limit of the power, a temperature (hot) or a power brake held the GPU's clock down in these shares \
                 of the looks.";
    }
    text
}
