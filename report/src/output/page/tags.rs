//! The section on the operations by tag.

use super::super::sentences::about_tags;
use super::super::tables;
use super::section::part;
use super::table::PageTable;
use crate::answer::{Part, Tags};
use maud::{Markup, html};

/// Most rows. A program may have a tag for each step.
const ROWS: usize = 64;

/// Writes the section.
pub(super) fn of(tags: &Part<Tags>) -> Markup {
    part("tags", "Operations by tag", tags, |tags| {
        html! {
            p { (about_tags(tags)) }
            (PageTable::of("Operations by tag", &tables::tags(tags)).without_unknown().first(ROWS))
        }
    })
}
