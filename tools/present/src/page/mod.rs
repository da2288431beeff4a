//! The report as one HTML page: self-contained, for screens light and dark, for paper, keyboards and screen readers.
//!
//! Answers come first, then pictures; prose and tables are folded away. Charts are inline SVG with a title and a
//! description; the table behind each has the same figures as text. Colours are never alone: waits are thin or hatched,
//! series have markers, slow pairs have a frame. A small script adds hover, zoom and filters; without it, all is there.
//!
//! | file | task |
//! |---|---|
//! | `opening.rs` | the first line, and the filters |
//! | `answers.rs`, `proofs.rs` | the three answers, and the picture beside each |
//! | `timeline.rs`, `lanes.rs` | two steps in detail with the critical path |
//! | `excess.rs`, `gains.rs` | what ranks cost a step |
//! | `conditions.rs` | the conditions of processes and GPUs over time |
//! | `heat.rs` | a heat map of GPUs |
//! | `steps.rs`, `budget.rs`, `speed.rs`, `pairs.rs` | further pictures |
//! | `phases.rs`, `late.rs`, `states.rs` | other charts |
//! | `strip.rs` | a column for each GPU or node |
//! | `section.rs` | the frame of a section, and all sections without a chart |
//! | `table.rs` | the frame of a table |
//! | `unbroken.rs` | keeps a number and its unit on one line |
//! | `two_runs` | the page of a comparison |
//! | `draw` | scales, axes, and the frame of a chart |
//! | `style.css`, `script.js` | all colours and sizes; hover, zoom and filters |

mod answers;
mod budget;
mod conditions;
mod draw;
mod excess;
mod gains;
mod heat;
mod lanes;
mod late;
mod opening;
mod pairs;
mod phases;
mod proofs;
mod section;
mod speed;
mod stack;
mod states;
mod steps;
mod strip;
mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod two_runs;
mod unbroken;

pub use two_runs::two_runs;

use super::names::ReportNames;
use super::units::{UNKNOWN, counted};
use common::visible;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use report::answer::Report;

/// The page's style.
const STYLE: &str = include_str!("style.css");
/// The page's script.
const SCRIPT: &str = include_str!("script.js");
/// What the page may do: nothing beyond its own style and script. It fetches nothing and sends nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'";

/// Sections of the page: id and name in the navigation.
const SECTIONS: [(&str, &str); 16] = [
    ("answers", "Answers"),
    ("timeline", "Timeline"),
    ("stragglers", "Ranks"),
    ("conditions", "Conditions"),
    ("findings", "Findings"),
    ("steps", "Steps"),
    ("budget", "Budget"),
    ("speed", "Speed"),
    ("pairs", "Network"),
    ("late", "Waits"),
    ("phases", "Phases"),
    ("communicators", "Communicators"),
    ("tags", "Tags"),
    ("nccl", "NCCL"),
    ("unfinished", "Not over"),
    ("complete", "Complete?"),
];

/// Returns the report as an HTML page.
pub fn html(report: &Report) -> String {
    fit(&whole(report))
}

/// Replaces characters that names from outside may hold and a page must not have: control characters, and those by which
/// a name changes the direction of the text around it.
fn fit(page: &str) -> String {
    let is_fit = |letter: char| !visible::steers(letter) || matches!(letter, '\n' | '\t');
    page.chars().map(|letter| if is_fit(letter) { letter } else { char::REPLACEMENT_CHARACTER }).collect()
}

fn whole(report: &Report) -> String {
    let names = ReportNames::of(report);
    let gpus = counted(report.gpus.len() as u64, "GPU");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "NCCL report, " (gpus) }
                style { (PreEscaped(compact(STYLE))) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                header {
                    h1 { "NCCL report" span.of { " of " (gpus) } }
                    (opening::first_line(report))
                    (opening::fallback(report))
                }
                nav aria-label="Sections" {
                    ul { @for (id, name) in SECTIONS { li { a href={ "#" (id) } { (name) } } } }
                }
                main #main {
                    (patterns())
                    (answers::of(report, &names))
                    (opening::filters(report, &names))
                    (timeline::of(report, &names))
                    (excess::of(report, &names))
                    (conditions::of(report, &names))
                    (section::findings(&report.findings))
                    (steps::of(report, &names))
                    (budget::of(report, &names))
                    (speed::of(report, &names))
                    (pairs::of(report, &names))
                    (late::of(report, &names))
                    (phases::of(&report.phases))
                    (section::communicators(&report.communicators, &names))
                    (section::tags(&report.tags))
                    (section::choices(report, &names))
                    (section::unfinished(&report.unfinished, &names))
                    (section::completeness(&report.complete, &names))
                }
                footer {
                    p {
                        "Made by scorep-nccl " (env!("CARGO_PKG_VERSION")) ". In tables, "
                        (UNKNOWN) " stands for an unknown figure. "
                        "1 GB/s is 10^9 bytes per second; 1 MiB is 2^20 bytes."
                    }
                }
                script { (PreEscaped(compact(SCRIPT))) }
            }
        }
    }
    .into_string()
}

/// Returns lines without their indentation, and without those that are remarks alone.
fn compact(text: &str) -> String {
    text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join("\n")
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
