//! Tables that anybody may have made: a child process reads them to their ends before the report does. Where a damaged
//! table has Parquet's decoders take all memory, the child ends, and the report goes on without the table.

use input::offspring::apart;
use input::replay::run_all;
use report::table::FileRows;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

/// Name of the hidden subcommand that starts a child.
pub(crate) const COMMAND: &str = "read-tables";

/// Memory that a child may have, bytes. A table takes some MB.
const MEMORY: u64 = 1 << 30;
/// Tables that one child reads.
const AT_A_TIME: usize = 64;

/// The tables that a child reads.
#[derive(Debug, clap::Args)]
pub(crate) struct TablesChildArguments {
    files: Vec<PathBuf>,
}

/// Reads the tables. The place of each goes to standard output before it is read.
pub(crate) fn run(arguments: &TablesChildArguments) -> ExitCode {
    apart::answer(|say| {
        for (place, file) in (0..).zip(&arguments.files) {
            say(place);
            // an error is found again by the report, which says what is lost by it
            if let Ok(rows) = FileRows::open(file) {
                rows.for_each(drop);
            }
        }
    })
}

/// Returns the tables at which a child ends, each with its end.
pub(super) fn deadly(files: &[PathBuf]) -> BTreeMap<PathBuf, String> {
    let parts: Vec<&[PathBuf]> = files.chunks(AT_A_TIME).collect();
    run_all(&parts, None, |part| deadly_of(part)).into_iter().flatten().collect()
}

fn deadly_of(mut files: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    while !files.is_empty() {
        let mut place = None;
        let arguments = files.iter().map(Into::into);
        // Rust's words on a lack of memory name no file
        let read =
            apart::run::<()>(COMMAND, arguments, MEMORY, Stdio::null(), &mut |number| place = Some(number as usize));
        // a child that has begun with no file says nothing of them
        let (Err(how), Some(place)) = (read, place) else { break };
        let Some(file) = files.get(place) else { break };
        found.push((file.clone(), how));
        files = &files[place + 1..];
    }
    found
}
