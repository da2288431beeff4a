//! The stacks that processes have written on request.

use super::answers::Answers;
use crate::statuses;
use common::status::stacks::FURTHER;
use std::path::Path;

/// Longest file that is read, bytes. The library's have half of it at most.
const LONGEST: u64 = 1 << 20;
/// Most processes whose stacks are printed without `--all`.
const MOST_PROCESSES: usize = 8;

/// Returns the stacks of all processes that have answered, for a person: of each process, the threads that have
/// enqueued operations, and all threads if `all`. The texts may be anybody's. `named` is the name by which a person
/// knows the directory.
pub(super) fn text(answers: &Answers, directory: &Path, named: &Path, ticket: &str, all: bool) -> String {
    let written: Vec<_> = answers.stacks().collect();
    let shown = if all { written.len() } else { MOST_PROCESSES };
    let mut text = String::new();
    for (process, file) in written.iter().take(shown) {
        let place = named.join(file);
        text += &format!("\n{process}: {}\n", place.display());
        text += &match statuses::read_text(directory, file, LONGEST) {
            Ok(read) if !read.lines().next().is_some_and(|line| line.ends_with(ticket)) => {
                "It is of another request by now: ask again.\n".into()
            }
            Ok(read) if all => body(&read).to_owned(),
            Ok(read) => shortened(body(&read)),
            Err(cause) => format!("It cannot be read: {cause}.\n"),
        };
    }
    if written.len() > shown {
        let more = written.len() - shown;
        text +=
            &format!("\n{more} further processes have written theirs to {} (--all prints them).\n", named.display());
    }
    text
}

/// Returns a file without its first line, which says whose it is.
fn body(read: &str) -> &str {
    read.split_once('\n').map_or("", |(_, rest)| rest.trim_start_matches('\n'))
}

/// Returns the part on threads that have enqueued operations, and the number of the other lines.
fn shortened(body: &str) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let first = lines.iter().position(|line| *line == FURTHER).unwrap_or(lines.len());
    let (first, rest) = lines.split_at(first);
    let rest = rest.iter().skip(1).filter(|line| !line.is_empty()).count();
    let more =
        if rest > 0 { format!("{rest} further lines on other threads (--all prints them).\n") } else { String::new() };
    first.join("\n").trim_end().to_owned() + "\n" + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_threads_are_counted() {
        let text = format!("Stacks of pid 1\n\n2 threads\nThread 1\n\n{FURTHER}\nb\nThread 2\n");
        let shown = shortened(body(&text));
        assert_eq!(shown, "2 threads\nThread 1\n2 further lines on other threads (--all prints them).\n");
        assert_eq!(shortened("none"), "none\n");
        assert_eq!(body("one line"), "");
    }
}
