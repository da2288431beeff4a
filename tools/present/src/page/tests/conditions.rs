//! The section on the conditions of the processes.

use super::super::html;
use crate::sample::sample;
use report::answer::{ConditionMap, Conditions, Part, Report};

fn changed(change: impl Fn(&mut Conditions)) -> String {
    let mut report = sample(4);
    let Part::Known(conditions) = &mut report.conditions else { unreachable!() };
    change(conditions);
    html(&report).replace('\u{a0}', " ")
}

#[test]
fn the_extreme_of_each_figure_and_its_rank_are_in_words() {
    let page = changed(|_| ());
    for words in [
        "of its maximum, of 4 GPUs in bins of 1.00 s. The smallest is 94 %, of rank 3.",
        "as a share of its limit, of 4 GPUs in bins of 1.00 s. The largest is",
        "mean of them, of 4 GPUs in bins of 1.00 s. The largest is 30 %, of rank 0.",
        "Table: Conditions by rank, those that stand out first, then those that wait longest (4 rows)",
        "data-across=\"s\"",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // rank 3 stands out, rank 0 waits
    let table = page.split_once("<caption>Conditions by rank").unwrap().1.split_once("</table>").unwrap().0;
    let ranks: Vec<&str> = table.split("<th scope=\"row\">").skip(1).map(|row| &row[..6]).collect();
    assert_eq!(ranks, ["rank 3", "rank 0", "rank 1", "rank 2"]);
    assert!(!table.contains("throttled") && table.contains("stolen"), "what nobody has is left out");
}

#[test]
fn a_figure_that_nobody_has_is_not_drawn_and_a_calm_one_is_a_sentence() {
    let page = changed(|it| {
        it.map.power.clear();
        it.map.waiting.iter_mut().flatten().for_each(|share| *share = Some(0.0));
        it.map.sm_clock[0][0] = None;
    });
    assert!(!page.contains("power-chart") && !page.contains("Power of the GPUs"), "nobody has it");
    assert!(page.contains("wait 0.5 % of the time for a processor") && !page.contains("processor-chart"));
    assert!(page.contains("clock-chart") && page.contains("Where nothing is known"));
    let page = changed(|it| it.map = ConditionMap::default());
    assert!(!page.contains("clock-chart") && page.contains("<caption>Conditions by rank"));
}

#[test]
fn a_report_without_conditions_says_why() {
    let report = Report { conditions: Part::Absent(Conditions::NOT_IN_INPUTS.into()), ..sample(4) };
    assert!(html(&report).contains("</strong>the inputs have no conditions of processes (NCCL_SCOREP_CONDITIONS)."));
}
