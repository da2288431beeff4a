//! `scorep-nccl compare` on the command line.

use super::command::inputs_of;
use super::inputs::Inputs;
use super::outputs::{WIDTH, write_file};
use super::request::{FinishedReport, ReportRequest, UserFacts};
use super::{drive, facts, text_file};
use common::report::ROWS;
use present::output::{self, apart, leftovers, place};
use present::{page, sentences, terminal};
use report::answer::{Report, SCHEMA};
use report::compare::Comparison;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit status of a comparison that could not be made, as of `diff`.
const TROUBLE: u8 = 2;
/// Number of a file's first bytes that name a report's schema.
const HEAD: usize = 128;

/// What a person may say.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareArguments {
    /// The run before: an input as of `report`, or a report that `report --json FILE` wrote.
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The run after.
    #[arg(value_name = "B")]
    after: PathBuf,
    #[command(flatten)]
    facts: facts::Given,
    /// Change of a median from which on it counts as worse, percent. The exit status is 1 if the step, a rank or a
    /// transfer is worse, else 0; and 2 if the runs cannot be compared, or inputs are left out.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    threshold: f64,
    /// Writes the comparison as one page for browsers.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes the comparison as JSON; - prints it in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Rows of each table.
    #[arg(long, value_name = "N", default_value_t = ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    top: u64,
}

/// Parses a change in percent.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "not a number of percent".into())
}

/// Compares two runs. The exit status is 0 where nothing is worse, 1 where the step, a rank or a transfer is, and 2 where
/// the runs could not be compared, or inputs are left out.
pub(crate) fn run(arguments: CompareArguments) -> ExitCode {
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

fn compared(arguments: CompareArguments) -> Result<ExitCode, String> {
    let CompareArguments { before, after, facts, threshold, html, json, top } = arguments;
    let json_file = json.as_deref().filter(|place| *place != Path::new("-"));
    place::check_apart(&[("--html", html.as_deref()), ("--json", json_file)])?;
    let files = || html.as_deref().into_iter().chain(json_file);
    let inputs = [&before, &after].map(|path| Inputs::of(std::slice::from_ref(path)).files());
    apart::check(files().map(apart::Output::File), inputs.into_iter().flatten().chain(facts.files()))?;
    let facts = facts.read()?;
    files().try_for_each(place::prepare).map_err(|error| error.to_string())?;
    let rows = usize::try_from(top).unwrap_or(usize::MAX);
    let names = [&before, &after].map(|path| path.display().to_string());
    let [before, after] = [outcome(before, &facts, rows)?, outcome(after, &facts, rows)?];
    let left_out: Vec<_> = before.left_out.iter().chain(&after.left_out).collect();
    left_out.iter().for_each(output::say);
    let reports = [&before.report, &after.report];
    let mut comparison = Comparison::compare(names, reports, threshold / 100.0).map_err(|error| error.to_string())?;
    comparison.answer = sentences::two_runs::answer(&comparison);
    if let Some(place) = &html {
        write_file(place, page::two_runs(&comparison).as_bytes())?;
    }
    let text = serde_json::to_string_pretty(&comparison).map_err(|error| error.to_string())? + "\n";
    if let Some(place) = json_file {
        write_file(place, text.as_bytes())?;
    }
    match json.is_some() && json_file.is_none() {
        true => output::json(&text)?,
        false => output::text(&terminal::two_runs(&comparison, output::width().unwrap_or(WIDTH).into(), rows))?,
    }
    Ok(match (left_out.is_empty(), comparison.worse) {
        (false, _) => ExitCode::from(TROUBLE),
        (true, true) => ExitCode::FAILURE,
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Returns the report of a run: made of its inputs, or read as `report --json` wrote it.
fn outcome(path: PathBuf, facts: &UserFacts, top: usize) -> Result<FinishedReport, String> {
    if is_report(&path) {
        let report = report_of(&path)?;
        return Ok(FinishedReport { report, asked: 1, left_out: vec![] });
    }
    let (inputs, facts) = (inputs_of(&[path])?, facts.clone());
    drive::make(&ReportRequest { inputs, facts, top, ..ReportRequest::default() })
}

/// Returns whether a file is a report as JSON, by its first bytes.
fn is_report(path: &Path) -> bool {
    let mut head = [0; HEAD];
    let is_file = path.metadata().is_ok_and(|file| file.is_file());
    let mut read = || std::fs::File::open(path).ok()?.read(&mut head).ok();
    let length = if is_file { read().unwrap_or(0) } else { 0 };
    let name = format!("\"{SCHEMA}\"");
    head.get(..length).is_some_and(|head| head.windows(name.len()).any(|part| part == name.as_bytes()))
}

fn report_of(path: &Path) -> Result<Report, String> {
    let text = text_file::read(path, text_file::REPORT).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: CompareArguments,
    }

    fn parsed(line: &str) -> Result<CompareArguments, String> {
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
