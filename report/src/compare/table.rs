//! The comparison for people.

use super::{Compared, Comparison, Subject, Verdict};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use std::fmt::Write;

/// Most rows that are in one report alone and are named.
const NAMED: usize = 10;

impl Verdict {
    fn text(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Uncertain => "uncertain",
            Self::Equal => "equal",
            Self::Better => "better",
        }
    }
}

impl Subject {
    /// Returns the communicators' dimension or, without one, their size.
    fn communicators(&self) -> String {
        match (self.dimension.as_str(), self.nnodes) {
            ("unknown", 0) => format!("{} ranks", self.nranks),
            ("unknown", 1) => format!("{} ranks, 1 node", self.nranks),
            ("unknown", nodes) => format!("{} ranks, {nodes} nodes", self.nranks),
            (dimension, _) => dimension.to_owned(),
        }
    }

    /// Returns the bytes: one size, or a power of two to below the next, such as `1-2 MiB`.
    fn bytes(&self) -> String {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let whole = |unit: &&(u64, &str)| self.from_bytes > 0 && self.from_bytes.is_multiple_of(unit.0);
        let (unit, called) = units.iter().find(whole).copied().unwrap_or((1, "B"));
        let [from, to] = [self.from_bytes / unit, self.to_bytes.saturating_add(1) / unit];
        match (self.from_bytes == self.to_bytes, unit) {
            (true, _) => format!("{from} {called}"),
            (false, 1) => format!("{from}-{} {called}", self.to_bytes),
            (false, _) => format!("{from}-{to} {called}"),
        }
    }

    /// Returns the subject in words.
    pub fn text(&self) -> String {
        format!("{} of {} ({})", self.function, self.bytes(), self.communicators())
    }
}

/// Returns a change as a percentage with its sign, without the unit.
fn percent(change: f64) -> String {
    format!("{:+.1}", change * 100.0)
}

impl Comparison {
    /// Returns the comparison as a sentence, a table of at most this many rows and columns of text, and remarks.
    pub fn text(&self, rows: usize, width: Option<u16>) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header([
            "of",
            "function",
            "bytes",
            "before us",
            "now us",
            "change %",
            "95 % interval",
            "verdict",
        ]);
        if let Some(width) = width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        for row in self.rows.iter().take(rows) {
            table.add_row(cells(row));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 1));
        }
        // a number with a line break in it reads as another number
        for column in table.column_iter_mut().skip(2) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        table.column_iter_mut().skip(2).take(5).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        let mut text = format!("{}\n\n{}\n", self.headline(), table.trim_fmt());
        if self.rows.len() > rows {
            let _ = writeln!(text, "Rows that are not shown: {}.", self.rows.len() - rows);
        }
        for (name, only) in self.names.iter().zip(&self.only).filter(|(_, only)| !only.is_empty()) {
            let named: Vec<String> = only.iter().take(NAMED).map(Subject::text).collect();
            let more = only.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let _ = writeln!(text, "Only in {name}: {}{more}.", named.join("; "));
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    /// Returns the verdict in one sentence.
    fn headline(&self) -> String {
        let threshold = self.threshold * 100.0;
        let count = |verdict| self.rows.iter().filter(|row| row.verdict == verdict).count();
        let (worse, all) = (count(Verdict::Worse), self.rows.len());
        let worst = self.rows.first().filter(|row| row.verdict == Verdict::Worse);
        let Some(worst) = worst else {
            let uncertain = match count(Verdict::Uncertain) {
                0 => String::new(),
                uncertain => format!(" Of {uncertain} the change is uncertain."),
            };
            return format!("None of {all} rows is slower by more than {threshold:.0} %.{uncertain}");
        };
        let change = worst.change.map_or_else(String::new, percent) + " %";
        let (are, subject) = (if worse == 1 { "is" } else { "are" }, worst.subject.text());
        format!(
            "{worse} of {all} rows {are} slower by more than {threshold:.0} %. The worst one is {subject}: {change}."
        )
    }
}

fn cells(row: &Compared) -> [String; 8] {
    let [before, now] = row.medians_us.map(|median| format!("{median:.1}"));
    let unknown = || "unknown".to_owned();
    [
        row.subject.communicators(),
        row.subject.function.clone(),
        row.subject.bytes(),
        before,
        now,
        row.change.map_or_else(unknown, percent),
        row.interval.map_or_else(unknown, |[low, high]| format!("{}..{}", percent(low), percent(high))),
        row.verdict.text().to_owned(),
    ]
}
