//! A series of conditions of bounded length: when it is full, neighbours are joined.

use super::row::ConditionRow;

/// Rows in the order of time. Each but the last covers equally many looks.
#[derive(Debug)]
pub struct ConditionSeries {
    rows: Vec<ConditionRow>,
    /// Looks in a row.
    looks: u32,
    /// Looks in the last row; 0 if it is full.
    begun: u32,
}

impl Default for ConditionSeries {
    fn default() -> Self {
        Self::new()
    }
}

impl ConditionSeries {
    /// Returns an empty series.
    pub const fn new() -> Self {
        Self { rows: vec![], looks: 1, begun: 0 }
    }

    /// Adds the conditions of one look. The series has at most `most` rows, an even number.
    pub fn add(&mut self, row: &ConditionRow, most: usize) {
        if self.begun == 0 && self.rows.len() >= most {
            let pair = |pair: &[ConditionRow]| match pair {
                [one, next] => one.clone().followed_by(next),
                rest => rest.first().cloned().unwrap_or_default(),
            };
            self.rows = self.rows.chunks(2).map(pair).collect();
            self.looks = self.looks.saturating_mul(2);
        }
        match self.rows.last_mut() {
            Some(last) if self.begun > 0 => *last = std::mem::take(last).followed_by(row),
            _ => self.rows.push(row.clone()),
        }
        self.begun = (self.begun + 1) % self.looks.max(1);
    }

    /// Returns the rows.
    pub fn into_rows(self) -> Vec<ConditionRow> {
        self.rows
    }

    /// Returns the rows so far.
    pub fn rows(&self) -> &[ConditionRow] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_short_and_loses_no_time() {
        let mut series = ConditionSeries::new();
        for until in 1..=1000_u64 {
            series.add(&ConditionRow { until, length_us: 10, ..ConditionRow::default() }, 8);
            let rows = series.rows();
            assert!(rows.len() <= 8 && rows.len() > if until > 8 { 3 } else { 0 });
            assert_eq!(rows.iter().map(|row| row.length_us).sum::<u64>(), 10 * until);
            assert_eq!(rows.last().unwrap().until, until);
            let equal = &rows[..rows.len() - 1];
            assert!(equal.windows(2).all(|pair| pair[0].length_us == pair[1].length_us));
        }
    }
}
