//! Tests that are skipped because this machine lacks something.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that a test is skipped because something is not installed. Fails if the environment says that everything is,
/// as in continuous integration.
pub(crate) fn skip(what: &str) {
    assert!(std::env::var_os("SCOREP_NCCL_TEST_ALL").is_none(), "{what}");
    leave_out(what);
}

/// Reports that a test is skipped, also where everything has to be installed. `make test` lists these lines at its end.
pub(crate) fn leave_out(what: &str) {
    say(&format!("skipped: {what}"));
    let Some(list) = std::env::var_os("SCOREP_NCCL_SKIPPED") else { return };
    let line = format!("{}: {what}\n", env!("CARGO_CRATE_NAME"));
    let file = OpenOptions::new().append(true).create(true).open(list);
    file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
}

/// Writes a line about a test that passes; `println` would not show it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
