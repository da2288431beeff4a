//! Rows of speed put together over communicators: one row for each function, dimension, number of ranks and size.

use crate::answer::SpeedRow;
use std::collections::BTreeMap;

/// Rows of one function, dimension, number of ranks and size.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RowGroup {
    /// Function.
    pub(super) function: String,
    /// Dimension.
    pub(super) dimension: String,
    /// Number of ranks.
    pub(super) nranks: i32,
    /// Smallest and largest bytes.
    pub(super) bytes: [u64; 2],
    /// Communicators.
    pub(super) communicators: usize,
    /// Least and largest median time of the transfer among the rows, microseconds.
    pub(super) median_us: Option<[f64; 2]>,
    /// Least and largest bus bandwidth among the rows, GB/s.
    pub(super) busbw: Option<[f64; 2]>,
    /// Least share of the link among the rows.
    pub(super) utilisation: Option<f64>,
    /// Sum over rows of the median times the operations that were compared, microseconds.
    pub(super) time_us: f64,
}

/// Puts rows together; the group with most time comes first.
pub(super) fn groups(rows: &[SpeedRow]) -> Vec<RowGroup> {
    let mut groups: BTreeMap<_, Vec<&SpeedRow>> = BTreeMap::new();
    for row in rows {
        let key = (&row.function, &row.dimension, row.nranks, row.from_bytes, row.to_bytes);
        groups.entry(key).or_default().push(row);
    }
    let group =
        |((function, dimension, nranks, from, to), rows): ((&String, &String, i32, u64, u64), Vec<&SpeedRow>)| {
            let mut communicators: Vec<&str> = rows.iter().map(|row| row.comm.as_str()).collect();
            communicators.sort_unstable();
            communicators.dedup();
            RowGroup {
                function: function.clone(),
                dimension: dimension.clone(),
                nranks,
                bytes: [from, to],
                communicators: communicators.len(),
                median_us: range(rows.iter().filter_map(|row| row.median_us)),
                busbw: range(rows.iter().filter_map(|row| row.busbw)),
                utilisation: range(rows.iter().filter_map(|row| row.utilisation)).map(|[least, _]| least),
                time_us: rows.iter().map(|row| row.median_us.unwrap_or_default() * row.compared as f64).sum(),
            }
        };
    let mut groups: Vec<RowGroup> = groups.into_iter().map(group).collect();
    groups.sort_by(|one, other| other.time_us.total_cmp(&one.time_us));
    groups
}

fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.fold(None, |range, value| {
        let [least, most] = range.unwrap_or([value, value]);
        Some([value.min(least), value.max(most)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communicators_of_one_kind_are_one_row() {
        let row = |comm: &str, busbw| SpeedRow {
            function: "AllReduce".into(),
            comm: comm.into(),
            dimension: "DP".into(),
            nranks: 8,
            from_bytes: 64,
            to_bytes: 64,
            compared: 10,
            median_us: Some(100.0 / busbw),
            busbw: Some(busbw),
            ..SpeedRow::default()
        };
        let other = SpeedRow { from_bytes: 128, to_bytes: 128, ..row("a", 4.0) };
        let groups = groups(&[row("a", 5.0), row("b", 2.0), row("b", 4.0), other]);
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].communicators, groups[0].busbw), (2, Some([2.0, 5.0])));
        assert_eq!((groups[0].median_us, groups[0].utilisation), (Some([20.0, 50.0]), None));
        assert_eq!(groups[0].time_us, 10.0 * (20.0 + 50.0 + 25.0));
    }
}
