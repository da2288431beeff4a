//! The beginning of the page: whether all is there, and the three questions with their answers.

use super::super::names::Names;
use super::super::sentences::{self, communication_ns, heaviest, latest};
use super::super::units::{part_of, rate, share};
use super::unbroken::unbroken;
use crate::answer::Report;
use maud::{Markup, html};

/// A question with its answer.
struct Question {
    id: &'static str,
    text: &'static str,
    /// The answer in a word or number, where it is known.
    figure: Option<String>,
    sentence: String,
    /// Id and name of the section with the details.
    more: (&'static str, &'static str),
}

/// Writes the first line.
pub(super) fn first_line(report: &Report) -> Markup {
    let text = sentences::complete(report);
    let (verdict, rest) = text.split_once(':').unwrap_or((&text, ""));
    let class = if verdict == "Not complete" { "complete lacking" } else { "complete" };
    html! { p class=(class) { strong { (verdict) ":" } " " (unbroken(rest.trim_start())) " " a href="#complete" { "Details" } } }
}

/// Writes the three questions.
pub(super) fn questions(report: &Report, names: &Names<'_>) -> Markup {
    html! {
        section.questions aria-labelledby="questions" {
            h2 #questions { "Three questions" }
            ul.cards {
                @for question in all(report, names) {
                    li.card {
                        h3 id=(question.id) { (question.text) }
                        p.figure { (unbroken(question.figure.as_deref().unwrap_or("not known"))) }
                        p.answer { (unbroken(&question.sentence)) }
                        p.more { a href={ "#" (question.more.0) } { (question.more.1) } }
                    }
                }
            }
        }
    }
}

fn all(report: &Report, names: &Names<'_>) -> [Question; 3] {
    let about_late = sentences::late(report);
    let late = report.late.known().and_then(|late| match latest(late).first() {
        _ if about_late.starts_with("No rank") => Some("no rank".to_owned()),
        Some((place, rank)) => (rank.own_us > 0.0).then(|| names.gpu(*place)),
        None => None,
    });
    let cost = report.budget.known().filter(|budget| budget.whole.total_ns > 0).map(|budget| {
        let part = part_of(communication_ns(budget) as f64, budget.whole.total_ns as f64);
        format!("{} of {}", share(part), if budget.of_steps { "a step" } else { "the time" })
    });
    let network = report.speed.known().and_then(|speed| heaviest(&speed.rows)).and_then(|row| match row.utilisation {
        Some(part) => Some(format!("{} of the link", share(part))),
        None => row.busbw.map(rate),
    });
    [
        Question {
            id: "question-late",
            text: "Which rank is late?",
            figure: late,
            sentence: about_late,
            more: ("late", "Who is late"),
        },
        Question {
            id: "question-cost",
            text: "What does communication cost a step?",
            figure: cost,
            sentence: sentences::cost(report),
            more: ("budget", "Where the time goes"),
        },
        Question {
            id: "question-network",
            text: "Is the network as fast as it should be?",
            figure: network,
            sentence: sentences::network(report),
            more: ("speed", "How fast operations are"),
        },
    ]
}
