//! The report as one HTML page: self-contained, for screens light and dark, for paper, keyboards and screen readers.
//!
//! Charts are inline SVG with a title and a description; the table behind each has the same figures as text. Colours
//! are never alone: waits are hatched, series have markers, slow pairs have a frame.
//!
//! | file | task |
//! |---|---|
//! | `opening.rs` | the first line and the three questions |
//! | `completeness.rs` to `unfinished.rs` | a section for each part of the report |
//! | `costs.rs` | delay costs by GPU, in the section on late ranks |
//! | `lanes.rs` | draws the calls of one step |
//! | `callbacks.rs`, `below.rs` | charts of the callbacks below operations of that step |
//! | `section.rs`, `table.rs` | the frames of a section and of a table |
//! | `unbroken.rs` | keeps a number and its unit on one line |
//! | `two_runs` | the page of a comparison |
//! | `draw` | scales, axes, and the frame of a chart |
//! | `style.css` | all colours and sizes |

mod below;
mod budget;
mod callbacks;
mod communicators;
mod completeness;
mod costs;
mod draw;
mod lanes;
mod late;
mod opening;
mod pairs;
mod phases;
mod section;
mod speed;
mod steps;
mod swim;
mod table;
#[cfg(test)]
mod tests;
mod two_runs;
mod unbroken;
mod unfinished;

pub use two_runs::two_runs;

use super::names::Names;
use super::pace::Pace;
use super::units::{UNKNOWN, counted};
use crate::answer::Report;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The page's style.
const STYLE: &str = include_str!("style.css");

/// Sections of the page: id and name in the navigation.
const SECTIONS: [(&str, &str); 10] = [
    ("complete", "Complete?"),
    ("steps", "Steps"),
    ("budget", "Budget"),
    ("phases", "Phases"),
    ("late", "Late"),
    ("swim", "One step"),
    ("speed", "Speed"),
    ("pairs", "Pairs"),
    ("communicators", "Communicators"),
    ("unfinished", "Not over"),
];

/// Returns the report as an HTML page.
pub fn html(report: &Report) -> String {
    fit(&whole(report))
}

/// Replaces control characters, which names from outside may hold and a page must not have.
fn fit(page: &str) -> String {
    let is_fit = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    page.chars().map(|letter| if is_fit(letter) { letter } else { char::REPLACEMENT_CHARACTER }).collect()
}

fn whole(report: &Report) -> String {
    let names = Names::of(report);
    let gpus = counted(report.gpus.len() as u64, "GPU");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "NCCL report, " (gpus) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                header {
                    h1 { "NCCL report" span.of { " of " (gpus) } }
                    (opening::first_line(report))
                }
                nav aria-label="Sections" {
                    ul { @for (id, name) in SECTIONS { li { a href={ "#" (id) } { (name) } } } }
                }
                main #main {
                    (patterns())
                    (opening::questions(report, &names))
                    (completeness::of(&report.complete, &names))
                    (steps::of(&report.steps, &names))
                    (budget::of(&report.budget, &names))
                    (phases::of(&report.phases))
                    (late::of(&report.late, &names, &Pace::of(report)))
                    (swim::of(&report.swim, &report.callbacks, &names))
                    (speed::of(&report.speed, &names))
                    (pairs::of(&report.pairs, &names, report.gpus.len()))
                    (communicators::of(&report.communicators, &names))
                    (unfinished::of(&report.unfinished, &names))
                }
                footer {
                    p {
                        "Made by scorep-nccl " (env!("CARGO_PKG_VERSION")) ". In tables, "
                        (UNKNOWN) " stands for an unknown figure. "
                        "1 GB/s is 10^9 bytes per second; 1 MiB is 2^20 bytes."
                    }
                }
            }
        }
    }
    .into_string()
}

/// Draws nothing, but has the hatches that charts fill with.
fn patterns() -> Markup {
    html! {
        svg.patterns width="0" height="0" aria-hidden="true" focusable="false" {
            pattern #hatch patternUnits="userSpaceOnUse" width="6" height="6" patternTransform="rotate(45)" {
                rect.ground width="6" height="6" {}
                rect.bar width="2.6" height="6" {}
            }
            pattern #fine patternUnits="userSpaceOnUse" width="3.2" height="3.2" patternTransform="rotate(45)" {
                rect.ground width="3.2" height="3.2" {}
                rect.bar width="1.5" height="3.2" {}
            }
            pattern #dots patternUnits="userSpaceOnUse" width="5" height="5" {
                rect.ground width="5" height="5" {}
                circle.point cx="2.5" cy="2.5" r="1.2" {}
            }
        }
    }
}
