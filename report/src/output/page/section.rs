//! A section of the page: a part of the report, or the reason why it is absent.

use crate::answer::Part;
use maud::{Markup, html};

/// Writes a section with the id `id`.
pub(super) fn section(id: &str, heading: &str, content: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-heading" } {
            h2 id={ (id) "-heading" } { (heading) }
            (content)
        }
    }
}

/// Writes a section for a part of the report.
pub(super) fn part<T>(id: &str, heading: &str, part: &Part<T>, content: impl Fn(&T) -> Markup) -> Markup {
    section(
        id,
        heading,
        match part {
            Part::Known(part) => content(part),
            Part::Absent(reason) => absent(reason),
        },
    )
}

/// Says why something is absent.
pub(super) fn absent(reason: &str) -> Markup {
    html! { p.absent { strong { "Not in this report: " } (reason) } }
}
