//! The start of a process, which distinguishes it from a later one of the same id.

/// Field 22 of /proc/PID/stat, counted from the first one behind the program's name.
const BORN: usize = 19;

/// Returns when this process started, clock ticks since boot.
pub(crate) fn own() -> Option<u64> {
    of_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Returns when a process started, clock ticks since boot, from the text of its /proc/PID/stat.
pub fn of_stat(stat: &str) -> Option<u64> {
    // the name, in parentheses, may have blanks and parentheses
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(BORN)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_the_22nd_field_whatever_the_process_is_called() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(of_stat(&format!("77 (a b) c) {}", fields.join(" "))), Some(22));
        assert!(own().is_some());
    }
}
