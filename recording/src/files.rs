//! File names of captures.

use std::path::Path;

/// File name ending of captures.
pub const ENDING: &str = ".jsonl.gz";

/// Returns the name of a capture's process: the file name without the ending.
pub fn process_name(capture: &Path) -> String {
    let name = capture.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(ENDING).unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_after_its_file() {
        assert_eq!(process_name(Path::new("x/collectives.r0.jsonl.gz")), "collectives.r0");
        assert_eq!(process_name(Path::new("other")), "other");
    }
}
