//! The threads of this process and its Python stacks, for somebody who asks where a late call comes from.
//!
//! No thread of the program is stopped, signalled or unwound, and no library is loaded.

mod child;
mod python;
mod threads;

pub(crate) use python::Python;

use crate::origin;
use crate::status::stacks::{FURTHER, MOST_BYTES};
use std::collections::BTreeMap;
use std::fmt::Write;
use threads::{SystemThread, SystemThreads};

/// The line where a text is cut.
const CUT: &str = "... (cut here)\n";

/// Returns the text, of [`MOST_BYTES`] at most: first the threads that have enqueued operations of NCCL, then
/// [`FURTHER`] and the rest.
pub(crate) fn text(python: Option<&Python>, ticket: &str) -> String {
    let launching = threads::launching();
    let SystemThreads { threads, all } = threads::look(&launching);
    let stacks = python.map(Python::stacks);
    let version = python.and_then(|python| python.version().ok());
    let (first, rest) = match &stacks {
        Some(Ok(text)) => ordered(text, &launching),
        _ => Default::default(),
    };
    let origin = origin::own();
    let mut text = format!("Stacks of pid {}", std::process::id());
    // writing into a String does not fail
    let _ = write!(text, " on {}", origin.host.as_deref().unwrap_or("an unknown host"));
    let _ = origin.rank.map(|rank| write!(text, ", rank {rank}"));
    let _ = write!(text, ", for request {ticket}\n\n");
    let launches = threads.iter().filter(|thread| thread.launches).count();
    let _ = writeln!(text, "{all} threads, of which {launches} have enqueued operations:");
    add_threads(&mut text, threads.iter().filter(|thread| thread.launches));
    let kernel = threads.iter().any(|thread| thread.kernel.is_some());
    if !kernel {
        text.push_str("Stacks in the kernel: only root may read them.\n");
    }
    let version = version.map(|version| format!("Python {version}")).unwrap_or("Python".into());
    let _ = match &stacks {
        None => writeln!(text, "\nPython: none was in this process when NCCL began."),
        Some(Err(reason)) => writeln!(text, "\n{version}: {reason}."),
        Some(Ok(_)) => writeln!(text, "\n{version}:\n{first}"),
    };
    let _ = writeln!(text, "{FURTHER}");
    add_threads(&mut text, threads.iter().filter(|thread| !thread.launches));
    if all > threads.len() {
        let _ = writeln!(text, "... and {} others", all - threads.len());
    }
    text.push('\n');
    text.push_str(&rest);
    cut(text)
}

fn add_threads<'a>(text: &mut String, threads: impl Iterator<Item = &'a SystemThread>) {
    for SystemThread { line, kernel, .. } in threads {
        let lines = [Some(line), kernel.as_ref()];
        lines.into_iter().flatten().for_each(|line| text.extend([line, "\n"]));
    }
}

/// Splits the interpreter's text: stacks of threads that launch, and others. All are first where none is known to
/// launch.
fn ordered(text: &str, launching: &BTreeMap<u64, u32>) -> (String, String) {
    let (mut first, mut rest) = (String::new(), String::new());
    let mut is_first = false;
    for line in text.lines() {
        let id = line.strip_prefix("Current thread 0x").or_else(|| line.strip_prefix("Thread 0x"));
        let id = id.map(|id| id.split(' ').next().and_then(|id| u64::from_str_radix(id, 16).ok()));
        let mut of = None;
        if let Some(id) = id {
            of = id.and_then(|id| launching.get(&id));
            is_first = of.is_some();
        }
        let into = if is_first { &mut first } else { &mut rest };
        let note = of.map(|thread| format!(" thread {thread}, launches")).unwrap_or_default();
        into.extend([line, &note, "\n"]);
    }
    if first.is_empty() { (rest, first) } else { (first, rest) }
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        let most = MOST_BYTES - CUT.len() - 1;
        text.truncate((0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0));
        text.extend(["\n", CUT]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_of_threads_that_launch_come_first() {
        let text = "Thread 0x00000000000000aa (most recent call first):\n  File \"a\"\n\nThread 0x00000000000000bb [b] \
                    (most recent call first):\n  File \"b\"\n";
        let (first, rest) = ordered(text, &BTreeMap::from([(0xbb, 7)]));
        assert_eq!(first, "Thread 0x00000000000000bb [b] (most recent call first): thread 7, launches\n  File \"b\"\n");
        assert_eq!(rest, "Thread 0x00000000000000aa (most recent call first):\n  File \"a\"\n\n");
        assert_eq!(ordered(text, &BTreeMap::new()), (text.to_owned(), String::new()));
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let text = cut("\u{e4}".repeat(MOST_BYTES));
        assert!(text.len() <= MOST_BYTES && text.ends_with(CUT));
        assert_eq!(cut("a".into()), "a");
    }
}
