//! The sentences above the table of a watch's findings.

use super::super::units::counted;
use crate::answer::{LeftOutLines, WatchFindings};

/// Returns how many findings there are, and which lines of the log are not among them.
pub(in crate::output) fn about_findings(findings: &WatchFindings) -> String {
    let rows = findings.rows.len() as u64;
    let mut text =
        format!("The log has {} of this job in {}.", counted(rows, "finding"), counted(findings.lines, "line"));
    let open = findings.rows.iter().filter(|row| row.lasts).count() as u64;
    if open > 0 {
        let are = if open == 1 { "is" } else { "are" };
        text += &format!(" {} {are} not over in the log.", counted(open, "finding"));
    }
    if findings.unnamed > 0 {
        let are = if findings.unnamed == 1 { "is" } else { "are" };
        let lines = counted(findings.unnamed, "line");
        text += &format!(" {lines} {are} of a job without a name, which may be another one.");
    }
    if let Some(left_out) = left_out_lines(findings) {
        text += &format!(" {left_out}");
    }
    text
}

/// Returns a sentence on the lines that are in no row; `None` if each line is in one.
pub fn left_out_lines(findings: &WatchFindings) -> Option<String> {
    let others = match findings.others.as_slice() {
        [] => "of other jobs".to_owned(),
        names => format!("of other jobs ({})", names.join("; ")),
    };
    let kinds = [
        (&findings.unread, "without a finding"),
        (&findings.too_long, "with more than 4 MiB"),
        (&findings.newer, "of a form that a later version of scorep-nccl reads"),
        (&findings.of_others, &*others),
        (&findings.passed_over, "behind the number that is read"),
    ];
    let part = |(lines, fate): (&LeftOutLines, &str)| {
        let first = lines.first.as_ref().map(|first| format!(", first in {first}")).unwrap_or_default();
        (lines.count > 0).then(|| format!("{} {fate}{first}", counted(lines.count, "line")))
    };
    let parts: Vec<String> = kinds.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::ReportedFinding;

    #[test]
    fn lines_that_are_in_no_row_are_counted_and_named() {
        let lines = |count, first: &str| LeftOutLines { count, first: Some(first.into()) };
        let findings = WatchFindings {
            rows: vec![ReportedFinding { lasts: true, ..ReportedFinding::default() }],
            lines: 9,
            unread: lines(1, "log, line 3"),
            of_others: lines(7, "log, line 4"),
            others: vec!["slurm 8".into()],
            unnamed: 1,
            ..WatchFindings::default()
        };
        assert_eq!(
            about_findings(&findings),
            "The log has 1 finding of this job in 9 lines. 1 finding is not over in the log. 1 line is of a job \
             without a name, which may be another one. Left out: 1 line without a finding, first in log, line 3; 7 \
             lines of other jobs (slurm 8), first in log, line 4."
        );
        assert_eq!(left_out_lines(&WatchFindings::default()), None);
    }
}
