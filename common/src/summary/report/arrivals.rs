//! The table of ranks that arrive late at collectives.

use super::figure::{count, number, share};
use super::table::{TextColumn, TextTable, View, looked_at};
use crate::summary::{Lateness, Summary};
use crate::sums::enough::{ENOUGH_TIMED, speaks_for_all};
use std::fmt::Write;

/// Writes the latest ranks, and the uncertainty of nodes' clocks. Empty if processes were not gathered.
pub(super) fn tables(summary: &Summary, view: &View) -> String {
    let mut text = String::new();
    if !summary.lateness.is_empty() {
        let _ = write!(text, "\n{}", lateness(summary, view));
    }
    if let Some(clocks) = summary.clocks.filter(|clocks| clocks.nodes > 1) {
        let _ = writeln!(
            text,
            "\nThe clocks of {} nodes were compared to {} us",
            clocks.nodes,
            number(Some(clocks.error_us), 1)
        );
    }
    text
}

/// Returns whether the operations with known begins may stand for all.
fn is_known(row: &&Lateness) -> bool {
    speaks_for_all(row.operations, row.count)
}

const COLUMNS: [TextColumn<Lateness>; 10] = [
    ("communicator", |row| row.comm.clone()),
    ("rank", |row| row.rank.to_string()),
    ("mean us", |row| number(row.mean_us, 1)),
    ("p99 us", |row| number(row.p99_us, 1)),
    ("last", |row| count(row.last)),
    ("resolved", |row| count(row.resolved)),
    ("of", |row| count(row.operations)),
    ("known %", |row| share(row.operations, row.count)),
    ("uncertain us", |row| number(Some(row.estimated_error_us), 1)),
    ("at most us", |row| number(Some(row.error_us), 1)),
];

fn lateness(summary: &Summary, view: &View) -> String {
    let (rows, ranks) = (&summary.lateness, summary.ranks());
    // ranks with too few known operations come last
    let mut late: Vec<&Lateness> =
        rows.iter().filter(|row| row.mean_us.is_some() || !is_known(row) && row.last > 0).collect();
    late.sort_by(|one, other| {
        let mean = |row: &Lateness| row.mean_us.unwrap_or(0.0);
        mean(other).total_cmp(&mean(one)).then(other.last.cmp(&one.last))
    });
    let on_time = rows.iter().filter(|row| is_known(row) && row.mean_us.is_none()).count();
    let unknown = rows.iter().filter(|row| !is_known(row) && row.last == 0).count();
    let mut text = String::new();
    if late.is_empty() && unknown == 0 {
        let bound = rows.iter().map(|row| row.estimated_error_us).reduce(f64::max);
        let _ = writeln!(
            text,
            "Arrival at collectives; {ranks}: none of {} is later than the clocks leave uncertain, {} us at most",
            count(on_time as u64),
            number(bound, 1)
        );
    } else {
        let dispensable = ["at most us", "resolved", "of", "p99 us", "known %", "last"];
        let table = TextTable::by(&COLUMNS, 1, &dispensable, late.iter().copied().take(view.rows));
        let table = table.by_communicator(summary);
        let _ = writeln!(
            text,
            "Arrival at collectives, after the first rank; who is latest first; {ranks}\n{}",
            table.shown(view.width).trim_end()
        );
        let others = [
            (late.len().saturating_sub(view.rows), "less late"),
            (on_time, "no later than the clocks leave uncertain"),
            (unknown, "never known to be last, of too few operations"),
        ];
        let others = others.iter().filter(|(number, _)| *number > 0);
        let others: Vec<_> = others.map(|(number, what)| format!("{} {what}", count(*number as u64))).collect();
        if !others.is_empty() {
            let _ = writeln!(text, "other ranks: {}", others.join(", "));
        }
        if !rows.iter().all(|row| is_known(&row)) {
            let _ = writeln!(
                text,
                "no mean where it is known of less than {ENOUGH_TIMED} % of the operations when all ranks began"
            );
        }
    }
    text + &looked_at(rows.iter().map(|row| row.one_in))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::ClockComparison;

    fn shown(summary: &Summary) -> String {
        tables(summary, &View::default())
    }

    fn row(rank: i32, mean_us: Option<f64>, one_in: u32) -> Lateness {
        let p99_us = mean_us.map(|mean| mean * 3.0);
        Lateness {
            comm: "00000000000000ab".into(),
            rank,
            count: 12_400,
            timed: 12_345,
            operations: 12_345,
            resolved: 9876,
            one_in,
            error_us: 8.4,
            estimated_error_us: 4.2,
            mean_us,
            p99_us,
            last: 1017,
        }
    }

    fn summary(lateness: Vec<Lateness>, clocks: Option<ClockComparison>) -> Summary {
        Summary { lateness, clocks, ..Summary::merge(vec![]) }
    }

    #[test]
    fn nothing_is_said_where_nothing_was_gathered() {
        assert_eq!(shown(&summary(vec![], None)), "");
    }

    #[test]
    fn the_latest_come_first_and_the_others_are_counted() {
        let late = (0..25).map(|rank| row(rank, Some(f64::from(rank)), 1));
        let text = shown(&summary(late.chain([row(25, None, 1)]).collect(), None));
        let cells = |line: &str| line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().filter(|line| line.contains("ab")).map(cells).collect();
        assert_eq!(
            lines[0][1..11],
            ["00000000000000ab", "24", "24.0", "72.0", "1,017", "9,876", "12,345", "99.6", "4.2", "8.4"]
        );
        let ranks: Vec<&str> = lines.iter().map(|cells| cells[2].as_str()).collect();
        assert_eq!(ranks, (5..25).rev().map(|rank| rank.to_string()).collect::<Vec<_>>());
        assert!(text.ends_with("\nother ranks: 5 less late, 1 no later than the clocks leave uncertain\n"), "{text}");
    }

    #[test]
    fn who_is_late_alone_has_no_others() {
        let text = shown(&summary(vec![row(3, Some(1.0), 8)], Some(ClockComparison { nodes: 4, error_us: 3.25 })));
        assert!(!text.contains("other ranks") && text.contains("\none operation in 8 was looked at\n"), "{text}");
        assert!(text.ends_with("\n\nThe clocks of 4 nodes were compared to 3.2 us\n"), "{text}");
    }

    #[test]
    fn nobody_late_is_said() {
        let text = shown(&summary(vec![row(0, None, 1), row(1, None, 1)], None));
        let head = "\nArrival at collectives; it is not known of how many ranks: none of 2 is later";
        assert_eq!(text, format!("{head} than the clocks leave uncertain, 4.2 us at most\n"));
    }

    /// Such a rank has no mean, which would be that of the warm-up, and does not count as on time.
    #[test]
    fn ranks_of_too_few_operations_have_no_mean() {
        let few =
            |rank, last| Lateness { count: 120, timed: 6, operations: 5, resolved: 5, last, ..row(rank, None, 1) };
        let text = shown(&summary(vec![few(0, 2), few(1, 3), few(2, 0)], None));
        let cells = |line: &str| line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().filter(|line| line.contains("ab")).map(cells).collect();
        assert_eq!(lines[0][2..9], ["1", "-", "-", "3", "5", "5", "4.2"]);
        assert_eq!((lines.len(), lines[1][2].as_str()), (2, "0"));
        assert!(
            text.contains("\nother ranks: 1 never known to be last, of too few operations\nno mean where"),
            "{text}"
        );
    }
}
