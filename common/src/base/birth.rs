//! The start of a process, which distinguishes it from a later one of the same id.

use std::str::SplitAsciiWhitespace;

/// Fields 9 and 22 of /proc/PID/stat, counted from the first one behind the program's name.
const FLAGS: usize = 6;
const BORN: usize = 19;
/// The kernel's flag of a process that was forked and has not called `exec` (PF_FORKNOEXEC).
const FORKED: u64 = 0x40;

/// Returns when this process started, clock ticks since boot.
pub fn own() -> Option<u64> {
    of_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Returns whether this process was forked and has not called `exec`, as far as the system says.
pub(crate) fn is_forked() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    field(&stat, FLAGS).is_some_and(|flags| flags & FORKED != 0)
}

/// Returns when a process started, clock ticks since boot, from the text of its /proc/PID/stat.
pub fn of_stat(stat: &str) -> Option<u64> {
    field(stat, BORN)
}

fn field(stat: &str, place: usize) -> Option<u64> {
    fields(stat)?.nth(place)?.parse().ok()
}

/// Returns the fields of a stat file's text behind the program's name: the first one is the third, the state.
pub fn fields(stat: &str) -> Option<SplitAsciiWhitespace<'_>> {
    // the name, in parentheses, may have blanks and parentheses
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_the_22nd_field_whatever_the_process_is_called() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(of_stat(&format!("77 (a b) c) {}", fields.join(" "))), Some(22));
        assert_eq!(field(&format!("77 (a b) c) {}", fields.join(" ")), FLAGS), Some(9));
        // cargo starts the test's program by `exec`
        assert!(own().is_some() && !is_forked());
    }
}
