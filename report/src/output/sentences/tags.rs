//! The sentence above the table of operations by tag.

use super::super::units::count;
use crate::answer::Tags;

/// Says of which operations the times are, and which tags have no row.
pub(in crate::output) fn about_tags(tags: &Tags) -> String {
    let mut text =
        "Sums over all ranks. Times are of the timed operations, with their waits for other ranks.".to_owned();
    if tags.rows.last().is_some_and(|row| row.tag == Tags::OTHERS) {
        text += &format!(" The tags after the first {} have one row.", count(Tags::MOST as u64));
    }
    text
}
