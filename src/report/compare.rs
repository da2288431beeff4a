//! `scorep-nccl compare` on the command line.

use super::command::inputs_of;
use super::request::Request;
use super::{drive, facts};
use crate::output::{self, leftovers};
use common::files;
use common::report::ROWS;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit status of a comparison that could not be made, as of `diff`.
const TROUBLE: u8 = 2;

/// What a person may say.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The run before: an input as of `report`.
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The run after.
    #[arg(value_name = "B")]
    after: PathBuf,
    #[command(flatten)]
    facts: facts::Given,
    /// Change of a median from which on it counts as worse, percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    threshold: f64,
    /// Writes the comparison as JSON; - prints it in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    top: u64,
}

/// Parses a change in percent.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "not a number of percent".into())
}

/// Compares two runs. The exit status is 0 where nothing is worse, 1 where something is, and 2 where the runs could not
/// be compared, or inputs are left out.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    match compared(arguments) {
        Ok(status) => status,
        Err(message) => {
            // as in main
            leftovers::undisturbed(|| ());
            output::say(message);
            ExitCode::from(TROUBLE)
        }
    }
}

fn compared(arguments: Arguments) -> Result<ExitCode, String> {
    let Arguments { before, after, facts, threshold, json, top } = arguments;
    let facts = facts.read()?;
    let request = |path: PathBuf| {
        Ok::<_, String>(Request {
            inputs: inputs_of(&[path])?,
            facts: facts.clone(),
            job: None,
            top: usize::try_from(top).unwrap_or(usize::MAX),
            shown_step: None,
            callbacks: false,
            csv: None,
            parquet: None,
            perfetto: None,
        })
    };
    let names = [&before, &after].map(|path| path.display().to_string());
    let requests = [request(before)?, request(after)?];
    let rows = usize::try_from(top).unwrap_or(usize::MAX);
    let width = output::width().unwrap_or(super::outputs::WIDTH);
    let comparison = drive::compare(names, requests.each_ref(), (threshold / 100.0, rows, width))?;
    comparison.left_out.iter().for_each(output::say);
    match json.as_deref() {
        Some(place) if place == Path::new("-") => output::write(&comparison.json)?,
        Some(place) => {
            leftovers::undisturbed(|| files::write(place, comparison.json.as_bytes()))
                .map_err(|error| format!("{}: {error}", place.display()))?;
            output::text(&comparison.text)?;
        }
        None => output::text(&comparison.text)?,
    }
    Ok(match (comparison.left_out.is_empty(), comparison.is_worse) {
        (false, _) => ExitCode::from(TROUBLE),
        (true, true) => ExitCode::FAILURE,
        (true, false) => ExitCode::SUCCESS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(line: &str) -> Result<Arguments, String> {
        let words = std::iter::once("compare").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn two_runs_and_a_threshold_are_understood() {
        assert_eq!(parsed("a b").unwrap().threshold, 10.0);
        assert_eq!(parsed("a b --threshold 2.5 --step train --json -").unwrap().threshold, 2.5);
        for (line, cause) in [
            ("a", "<B>"),
            ("a b c", "unexpected argument"),
            ("a b --threshold -1", "unexpected argument"),
            ("a b --threshold=-1", "not a number of percent"),
            ("a b --threshold nan", "not a number of percent"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(cause), "{line}: {error}");
        }
    }

    #[test]
    fn runs_that_cannot_be_compared_have_a_status_of_their_own() {
        assert_eq!(run(parsed("no/such/a no/such/b").unwrap()), ExitCode::from(TROUBLE));
    }
}
