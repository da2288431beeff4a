//! Tests of whole texts: their first line, their length and width, and absent parts.

use super::super::{Chapter, sentences};
use super::{chapters, fitted::TableRoom, questions, tables};
use crate::sample::sample;
use report::answer::{Part, Report};

const REASON: &str = "the inputs are summaries, which have no single operations.";

/// Returns a report without all parts that can be absent.
fn without_parts(ranks: usize) -> Report {
    let mut report = sample(ranks);
    let why = || REASON.to_owned();
    report.steps = Part::Absent(why());
    report.budget = Part::Absent(why());
    report.phases = Part::Absent(why());
    report.stragglers = Part::Absent(why());
    report.conditions = Part::Absent(why());
    report.findings = Part::Absent(why());
    report.late = Part::Absent(why());
    report.speed = Part::Absent(why());
    report.pairs = Part::Absent(why());
    report.transfers = Part::Absent(why());
    report.communicators = Part::Absent(why());
    report.tags = Part::Absent(why());
    report.choices = Part::Absent(why());
    report.unfinished = Part::Absent(why());
    report.swim = Part::Absent(why());
    report
}

/// Returns a report with the answers that its parts give.
fn answered(report: &Report) -> Report {
    Report { answers: sentences::answers(report), ..report.clone() }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Returns the text between spaces, whatever the line breaks are.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_question_has_at_most_15_lines_of_80_characters() {
    for ranks in [1, 2, 4, 1024, 4096] {
        let report = sample(ranks);
        for question in [questions::late, questions::cost, questions::network] {
            let text = question(&answered(&report), &TableRoom { width: 80, top: 100 });
            assert!(text.lines().count() <= questions::LINES && widest(&text) <= 80, "{ranks}:\n{text}");
            // a table, not the sentence alone
            assert!(ranks == 1 || text.contains('╞'), "{ranks}:\n{text}");
        }
    }
}

#[test]
fn long_names_and_missing_facts_leave_room_for_the_answers() {
    for ranks in [4, 4096] {
        let mut report = sample(ranks);
        report.steps = Part::Absent(REASON.into());
        for gpu in &mut report.gpus {
            *gpu = format!("{gpu} of a job that somebody gave a very long name, with words and withoutAnySpaceInIt");
        }
        if let Part::Known(budget) = &mut report.budget {
            (budget.of_steps, budget.steps, budget.with_kernels, budget.timed) = (false, 1, false, 0.5);
        }
        if let Part::Known(speed) = &mut report.speed {
            speed.link = None;
            speed.rows.iter_mut().for_each(|row| row.utilisation = None);
        }
        for question in [questions::late, questions::cost, questions::network] {
            let text = question(&answered(&report), &TableRoom { width: 80, top: 100 });
            assert!(text.lines().count() <= questions::LINES && widest(&text) <= 80, "{ranks}:\n{text}");
            assert!(text.contains('╞'), "{ranks}:\n{text}");
        }
        let text = flat(&tables(&answered(&report), 80, 5));
        for said in ["known without kernels", "50 % of the operations have no begin"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(text.contains("the rate of its link is not known (--link-gbps)"), "{text}");
    }
}

#[test]
fn a_job_in_which_nobody_is_late_says_so() {
    let mut report = sample(4);
    if let Part::Known(stragglers) = &mut report.stragglers {
        stragglers.found.clear();
        (stragglers.events, stragglers.event_count) = (vec![], 0);
    }
    let text = flat(&questions::late(&answered(&report), &TableRoom { width: 80, top: 5 }));
    let none = "No rank stands out; their random differences cost 240 us a step, 1.2 % of it.";
    assert!(text.ends_with(none), "{text}");
}

#[test]
fn no_line_is_wider_than_the_screen() {
    for ranks in [4, 4096] {
        let mut report = sample(ranks);
        report.gpus[0] = "rank 0 of a job whose name is much too long for any cell".into();
        for width in [80, 100, 120, 200] {
            let text = tables(&answered(&report), width, 20) + &chapters(&report, width, 20, &Chapter::ALL);
            assert!(
                widest(&text) <= width,
                "{width}: {}",
                text.lines().find(|line| line.chars().count() > width).unwrap()
            );
        }
    }
}

#[test]
fn whether_all_is_there_comes_first() {
    let mut report = sample(8);
    (report.complete.unmatched, report.complete.unfinished) = (0, 0);
    let first = |report: &Report| tables(&answered(report), 200, 5).lines().next().unwrap().to_owned();
    let clocks = "; all are on one clock, waits are known to 4.00 us. 1 remark: --part complete.";
    assert_eq!(first(&report), format!("Complete: all 8 ranks are here with 9,120 operations{clocks}"));
    report.complete.ranks_here = 7;
    assert_eq!(first(&report), format!("Not complete: 7 of 8 ranks are here with 9,120 operations{clocks}"));
}

#[test]
fn the_answers_name_the_rank_the_cost_and_the_slow_pair() {
    let text = flat(&tables(&answered(&sample(16)), 80, 5));
    let late = "Rank 3 is slow: without its extra time a step would take 19.4 ms instead of 20.0 ms (3.2 %).";
    assert!(text.contains(late), "{text}");
    assert!(
        text.contains("Communication beside which nothing is computed takes 14 % of a step, 2.71 ms of 20.0 ms"),
        "{text}"
    );
    assert!(
        text.contains(
            "The pair rank 7 to rank 15 (node00 to node01) reaches 14.8 GB/s, 39 % of the others' 37.5 GB/s."
        ),
        "{text}"
    );
}

#[test]
fn an_absent_part_says_why() {
    let report = without_parts(4);
    let text = flat(&tables(&answered(&report), 80, 5));
    // two parts for the last question
    assert_eq!(
        text.matches("Not known: the inputs are summaries, which have no single operations.").count(),
        3,
        "{text}"
    );
    for chapter in Chapter::ALL.into_iter().filter(|&chapter| chapter != Chapter::Complete) {
        let text = chapters(&report, 80, 5, &[chapter]);
        assert!(flat(&text).ends_with(REASON), "{text}");
    }
}

#[test]
fn rows_beyond_the_top_are_counted() {
    let report = sample(4096);
    let text = chapters(&report, 80, 10, &[Chapter::Budget]);
    assert!(text.contains("4,086 more"), "{text}");
    let mut report = report;
    if let Part::Known(stragglers) = &mut report.stragglers {
        stragglers.found = vec![stragglers.found[0].clone(); 20];
    }
    let text = questions::late(&answered(&report), &TableRoom { width: 80, top: 100 });
    assert!(text.contains("more: --part ranks"), "{text}");
}

#[test]
fn times_below_the_error_are_not_resolved() {
    let mut report = sample(4);
    let shown = |report: &Report| {
        let text = chapters(report, 200, 10, &[Chapter::Late, Chapter::Speed]);
        text.lines().filter(|line| line.contains("not resolved")).count()
    };
    // rank 3 waits 15 us in 19 calls of a step
    assert_eq!(shown(&report), 1);
    // the others' mean wait of a call is 33 to 38 us, the world's transfer 18 us: four ranks, one row
    report.complete.wait_error_us = Some(38.0);
    assert_eq!(shown(&report), 5);
}
