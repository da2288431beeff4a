//! Sentences on the sample, changed in known ways.

use super::*;
use crate::sample::sample;
use report::answer::Report;
use report::compare::THRESHOLD;

fn compared(before: &Report, after: &Report) -> Comparison {
    Comparison::compare(["A".into(), "B".into()], [before, after], THRESHOLD).unwrap()
}

fn said(before: &Report, after: &Report) -> String {
    let comparison = compared(before, after);
    answer(&comparison) + "\n" + &more(&comparison).join("\n")
}

fn lengths(report: &mut Report, us: f32) {
    report.series.lengths_us = (0..60).map(|step| us * (1.0 + 0.001 * (step % 7) as f32)).collect();
}

#[test]
fn the_step_is_said_first() {
    let [mut before, mut after] = [sample(8), sample(8)];
    lengths(&mut before, 27_600.0);
    lengths(&mut after, 33_120.0);
    let text = said(&before, &after);
    assert!(text.starts_with("A step takes 20 % longer: 33.2 ms, before 27.7 ms (95 % interval +"), "{text}");
    assert!(text.contains(" %). Worse by more than 10 %: the step.\n"), "{text}");
    let text = said(&after, &before);
    assert!(text.starts_with("A step takes 17 % less time: 27.7 ms, before 33.2 ms"), "{text}");
    assert!(text.contains("Nothing is worse by more than 10 %.\n"), "{text}");
    let text = said(&before, &before);
    assert!(text.starts_with("A step takes as long as before: 27.7 ms, before 27.7 ms"), "{text}");
    after.series.lengths_us.truncate(4);
    let text = said(&before, &after);
    let expected = "Whether a step takes longer is not known: 33.2 ms, before 27.7 ms, but one run has 4 steps alone.";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn runs_that_differ_are_said_before_the_step() {
    let before = Report { nccl: vec!["2.27.3".into()], ..sample(16) };
    let text = said(&before, &sample(24));
    let expected = "The runs differ: 24 ranks, before 16; 3 nodes, before 2; NCCL 2.28.9, before 2.27.3. What depends \
                    on the number of ranks is compared, but not judged. A step takes as long as before: ";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("\nRanks are not compared: the runs have different numbers of ranks."), "{text}");
    let unknown = Report { nccl: vec![], nodes: vec![], ..sample(16) };
    assert!(said(&before, &unknown).starts_with("A step takes "));
}

#[test]
fn ranks_are_named_and_whole_nodes_as_one() {
    let before = sample(16);
    let slowed = |ranks: &[usize]| {
        let mut after = sample(16);
        let Part::Known(stragglers) = &mut after.stragglers else { unreachable!() };
        ranks.iter().for_each(|rank| stragglers.ranks[*rank].own_us *= 1.5);
        after
    };
    let text = said(&before, &slowed(&[5]));
    assert!(text.contains("Worse by more than 10 %: rank 5.\n"), "{text}");
    let expected = "\nRank 5: its own time grew from 12.8 ms to 19.2 ms a step (+50.0 %), that of the others did not \
                    change.\n";
    assert!(text.contains(expected), "{text}");
    assert!(said(&slowed(&[5]), &before).contains("\nRank 5: its own time fell from 19.2 ms to 12.8 ms a step"));
    let mut after = Report { stragglers: Part::Absent("not here".into()), ..sample(16) };
    after.series.outside_us[5][0] *= 1.5;
    assert!(said(&before, &after).contains("\nRank 5: its time without NCCL grew from "));
    let node: Vec<usize> = (8..16).collect();
    let text = said(&before, &slowed(&node));
    assert!(text.contains("Worse by more than 10 %: all 8 ranks of node01.\n"), "{text}");
    assert!(text.contains("\nAll 8 ranks of node01: their own time grew from "), "{text}");
    let text = said(&before, &slowed(&[1, 4, 9, 12, 13]));
    assert!(text.contains("2 more ranks took longer than the others; the table has them."), "{text}");
    let all: Vec<usize> = (0..16).collect();
    let text = said(&before, &slowed(&all));
    assert!(text.contains("\nOwn time of the ranks grew by 50 % in the median.\n"), "{text}");
}

#[test]
fn a_rank_that_became_late_waits_and_jitter_are_said() {
    let mut before = sample(8);
    let Part::Known(stragglers) = &mut before.stragglers else { unreachable!() };
    stragglers.found.clear();
    stragglers.ranks.iter_mut().for_each(|rank| rank.excess_us = Some(0.0));
    let text = said(&before, &sample(8));
    let expected = "\nRank 3 stands out now and did not before: 690 us a step beyond its peers (5.4 %); without that a \
                    step would gain 642 us.\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\nWaits have not changed: "), "{text}");
    assert!(text.contains("\nRandom differences of the ranks cost a step 240 us, before 240 us."), "{text}");
    let text = said(&sample(8), &before);
    assert!(text.contains("\nRank 3 stood out among its peers before, and no longer does.\n"), "{text}");
}
