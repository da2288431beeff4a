//! The comparison of two runs as one HTML page, in the style of the report's page: the answer first, then pictures of
//! the steps and of the ranks, each with its table, then the transfers.

mod ranks;
mod steps;
#[cfg(test)]
mod tests;

use super::super::sentences::two_runs::{communicators, more, percent, range};
use super::super::units::{UNKNOWN, count, known, number, sizes, time};
use super::section::{absent, section};
use super::table::PageTable;
use super::unbroken::unbroken;
use super::{STYLE, fit, patterns};
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use report::answer::Part;
use report::compare::{ComparedRun, ComparedTransfers, Comparison};

/// What this page has beside the report's.
const OWN_STYLE: &str = include_str!("style.css");

/// Sections of the page: id and name in the navigation.
const SECTIONS: [(&str, &str); 4] =
    [("steps", "Steps"), ("ranks", "Ranks"), ("transfers", "Transfers"), ("runs", "The two runs")];

/// Returns the comparison as an HTML page.
pub fn two_runs(comparison: &Comparison) -> String {
    fit(&whole(comparison))
}

fn whole(comparison: &Comparison) -> String {
    let [before, after] = &comparison.names;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "NCCL runs compared: " (before) " and " (after) }
                style { (PreEscaped(STYLE)) (PreEscaped(OWN_STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the comparison" }
                header {
                    h1 { "Two NCCL runs" span.of { " compared" } }
                    p.names { span { "Before: " strong { (before) } } " " span { "Now: " strong { (after) } } }
                }
                nav aria-label="Sections" {
                    ul { @for (id, name) in SECTIONS { li { a href={ "#" (id) } { (name) } } } }
                }
                main #main {
                    (patterns())
                    (answer(comparison))
                    (section("steps", "How long a step takes", steps::of(comparison)))
                    (section("ranks", "What each rank does by itself", ranks::of(comparison)))
                    (section("transfers", "How long transfers take", transfers(comparison)))
                    (section("runs", "The two runs", runs(comparison)))
                }
                footer {
                    p {
                        "Made by scorep-nccl " (env!("CARGO_PKG_VERSION")) ". Changes are of medians over steps; an \
                         interval holds the true change with 95 %. In tables, " (UNKNOWN) " stands for an unknown \
                         figure."
                    }
                }
            }
        }
    }
    .into_string()
}

fn answer(comparison: &Comparison) -> Markup {
    let (class, verdict) = match comparison.worse {
        true => ("verdict worse", "Worse"),
        false => ("verdict", "Nothing is worse"),
    };
    html! {
        section.questions aria-labelledby="answer" {
            div class=(class) {
                h2 #answer { (verdict) }
                p.answer { (unbroken(&comparison.answer)) }
                ul { @for sentence in more(comparison) { li { (unbroken(&sentence)) } } }
            }
        }
    }
}

fn transfers(comparison: &Comparison) -> Markup {
    let row = |row: &ComparedTransfers| {
        let (subject, transfer) = (&row.subject, &row.transfer);
        let [before, now] = transfer.medians_us.map(time);
        vec![
            subject.function.clone(),
            communicators(subject),
            transfer.verdict.text().to_owned(),
            sizes(subject.from_bytes, subject.to_bytes),
            before,
            now,
            known(transfer.change, |change| format!("{} %", percent(change))),
            known(transfer.interval, range),
        ]
    };
    let columns = ["function", "communicators", "verdict", "size", "before", "now", "change", "95 % interval"];
    html! {
        @if comparison.rows.is_empty() { (absent("the runs have no function and size in common.")) }
        @else {
            p.look { "Look for a function whose large sizes take longer: the network, or NCCL's choice of algorithm." }
            (PageTable::new("Transfers, worst first", &columns, 3, comparison.rows.iter().map(row)).open())
        }
        @for (name, only) in comparison.names.iter().zip(&comparison.only) {
            (PageTable::new(
                format!("Transfers of {name} alone"),
                &["function", "communicators", "size"],
                2,
                only.iter().map(|it| vec![it.function.clone(), communicators(it), sizes(it.from_bytes, it.to_bytes)]),
            ))
        }
        @for note in &comparison.notes { p.note { (note) } }
    }
}

fn runs(comparison: &Comparison) -> Markup {
    let row = |fact: &str, of: &dyn Fn(&ComparedRun) -> String| {
        let [before, after] = comparison.runs.each_ref().map(of);
        vec![fact.to_owned(), before, after]
    };
    let releases = |run: &ComparedRun| if run.nccl.is_empty() { UNKNOWN.to_owned() } else { run.nccl.join(", ") };
    let rows = [
        row("ranks", &|run| count(run.ranks)),
        row("nodes", &|run| known(run.nodes, count)),
        row("NCCL", &releases),
        row("steps behind the warm-up", &|run| known(run.steps, count)),
        row("operations of a rank in a step", &|run| known(run.operations, number)),
        row("bytes of these", &|run| known(run.bytes, |bytes| super::super::units::bytes(bytes.round()))),
    ];
    PageTable::new("The two runs", &["", "before", "now"], 1, rows).open().render()
}

/// Returns the reason why a part is absent, as a section says it.
fn why<T>(part: &Part<T>) -> Markup {
    html! { @if let Some(reason) = part.absent() { (absent(reason)) } }
}
