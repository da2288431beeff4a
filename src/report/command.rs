//! `scorep-nccl report` on the command line.

use super::inputs::Inputs;
use super::request::ReportRequest;
use super::{drive, facts, outputs};
use present::output::{self, apart};
use std::path::PathBuf;

/// What a person may say.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArguments {
    /// Recordings (*.jsonl.gz), datasets of tables, experiments of Score-P or OTF2 archives, summaries, or directories
    /// of them.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    facts: facts::Given,
    #[command(flatten)]
    outputs: outputs::Forms,
    /// NCCL's log of the job (NCCL_DEBUG=INFO): files, plain or compressed with gzip, or directories of them.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    nccl_log: Vec<PathBuf>,
    /// What a watch found while the job ran: the files of `scorep-nccl watch --log FILE`.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    findings: Vec<PathBuf>,
    /// Number of the step that the page shows in detail, from 0 behind the warm-up. Without it, the slowest one.
    #[arg(long, value_name = "N")]
    show_step: Option<u64>,
    /// Number of the job, where the inputs are of several. Without it they are refused, with these numbers.
    #[arg(long, value_name = "N")]
    job: Option<usize>,
    /// The tag of yours (NCCL 2.31 and later) whose operations are in the report; 0 for those without one.
    #[arg(long, value_name = "TAG")]
    tag: Option<u64>,
}

/// Makes the report, writes it and prints it.
///
/// # Errors
/// In words. An error also comes after the report, where it lacks inputs.
pub(crate) fn run(arguments: ReportArguments) -> Result<(), String> {
    let ReportArguments { inputs, facts, outputs, nccl_log, findings, show_step, job, tag } = arguments;
    let inputs = Inputs::of(&inputs);
    let logs = nccl_log.iter().chain(&findings).cloned();
    apart::check(outputs.places(), inputs.files().into_iter().chain(facts.files()).chain(logs))?;
    let facts = facts.read()?;
    outputs.prepare()?;
    let inputs = some(inputs)?;
    let request = ReportRequest {
        inputs,
        facts,
        logs: nccl_log,
        findings,
        job,
        tag,
        top: outputs.rows(),
        shown_step: show_step,
        csv: outputs.csv.clone(),
        parquet: outputs.parquet.clone(),
        perfetto: outputs.perfetto.clone(),
    };
    let outcome = drive::make(&request)?;
    // before the tables, which are long
    outcome.left_out.iter().for_each(output::say);
    outputs.write(&outcome.report)?;
    // the report is printed; a caller that needs all inputs must still see an error
    match outcome.left_out.len() {
        0 => Ok(()),
        left_out => Err(format!("{left_out} of {} inputs are not in the report, as said above", outcome.asked)),
    }
}

/// Makes the report of some recordings, writes its page, and prints its answers without their tables.
///
/// # Errors
/// In words.
pub(crate) fn with_page(recordings: PathBuf, page: PathBuf) -> Result<(), String> {
    run(ReportArguments {
        inputs: vec![recordings],
        facts: facts::Given::default(),
        outputs: outputs::Forms::page(page),
        nccl_log: vec![],
        findings: vec![],
        show_step: None,
        job: None,
        tag: None,
    })
}

/// Looks at the inputs.
///
/// # Errors
/// When there is none: the problem of each path.
pub(super) fn inputs_of(paths: &[PathBuf]) -> Result<Inputs, String> {
    some(Inputs::of(paths))
}

fn some(inputs: Inputs) -> Result<Inputs, String> {
    if inputs.found.is_empty() {
        return Err(drive::lines(&inputs.left_out));
    }
    Ok(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: ReportArguments,
    }

    fn parsed(line: &str) -> Result<ReportArguments, String> {
        let words = std::iter::once("report").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn all_options_of_the_line_are_understood() {
        let line = "a b --html r.html --json - --csv c --parquet p --perfetto t --step train --dimensions d \
                    --link-gbps 400 --top 5 --part steps late,worst --show-step 3 --job 2 --tag 9 --nccl-log l1 l2 \
                    --nccl-log l3 --findings f1 f2 --kernels k0.json k1.json";
        let arguments = parsed(line).unwrap();
        assert_eq!(arguments.inputs, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!((arguments.outputs.rows(), arguments.show_step, arguments.job), (5, Some(3), Some(2)));
        assert_eq!(arguments.tag, Some(9));
        assert_eq!(arguments.nccl_log, ["l1", "l2", "l3"].map(PathBuf::from));
        assert_eq!(arguments.findings, ["f1", "f2"].map(PathBuf::from));
        assert!(parsed("a --all").is_ok());
    }

    #[test]
    fn a_line_that_is_wrong_is_refused_with_its_cause() {
        for (line, cause) in [
            ("", "<INPUT>"),
            ("a --top 0", "0 is not in 1.."),
            ("a --part swim", "possible values: complete, steps, budget"),
            ("a --step x --steps y", "cannot be used with"),
            ("a --all --part steps", "cannot be used with"),
            ("a --show-step last", "invalid digit"),
            ("a --html", "a value is required"),
            ("a --csv", "a value is required"),
            ("a --kernels", "value"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(cause), "{line}: {error}");
        }
    }

    #[test]
    fn files_of_facts_that_cannot_be_read_are_named() {
        for option in ["--steps", "--dimensions", "--link-gbps", "--baseline"] {
            let error = run(parsed(&format!("a {option} no/such/file")).unwrap()).unwrap_err();
            assert!(error.starts_with("no/such/file: No such file"), "{option}: {error}");
        }
    }

    #[test]
    fn inputs_that_are_all_bad_are_all_named() {
        let error = run(parsed("no/such/a no/such/b").unwrap()).unwrap_err();
        let lines: Vec<&str> = error.lines().collect();
        assert!(lines[0].starts_with("no/such/a: No such file") && lines[1].starts_with("no/such/b: "), "{error}");
    }
}
