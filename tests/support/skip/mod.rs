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
    let line = format!("{} {}: {what}\n", env!("CARGO_CRATE_NAME"), test_name().split("::").next().unwrap_or_default());
    let file = OpenOptions::new().append(true).create(true).open(list);
    file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
}

/// The path of the test that runs, by which the test program knows it.
fn test_name() -> String {
    // of cargo-nextest; without it, each test is a thread of its name
    std::env::var("NEXTEST_TEST_NAME").unwrap_or_else(|_| std::thread::current().name().unwrap_or_default().to_owned())
}

/// Writes a line about a test that passes; `println` would not show it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
