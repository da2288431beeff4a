//! Who is late, by sums alone.
//!
//! Sums have no waits, but how much later than the first rank each rank begins, in the mean. In a job of equal ranks
//! these means are alike, and none of them is a fault. A rank **stands out** if its mean is beyond its communicator's
//! median by more than 5 robust standard deviations over the ranks (1.4826 x the median of the distances from the
//! median), and by more than its error.

use super::super::names::ReportNames;
use super::super::units::{count, counted, time};
use super::words::capital;
use crate::answer::{AnswerVerdict, Late, RankLateness};
use std::collections::BTreeMap;

/// Least robust z.
const STANDS_OUT: f64 = 5.0;
/// Least number of ranks among which one can stand out.
const RANKS: usize = 4;

/// A rank beside the others of its communicator.
struct RankBesideOthers<'a> {
    row: &'a RankLateness,
    /// How much later than the first rank it begins, and the median over the ranks, microseconds.
    mean: f64,
    median: f64,
}

impl RankBesideOthers<'_> {
    /// The time that the communicator's operations have lost, as far as they were compared.
    fn weight(&self) -> f64 {
        (self.mean - self.median) * self.row.operations as f64 * f64::from(self.row.one_in.max(1))
    }
}

/// Returns who stands out, with a verdict; `None` if there is no lateness.
pub(super) fn late(late: &Late, names: &ReportNames<'_>) -> Option<(AnswerVerdict, String)> {
    let mut communicators: BTreeMap<&str, Vec<&RankLateness>> = BTreeMap::new();
    for row in late.lateness.iter().filter(|row| row.operations > 0) {
        communicators.entry(&row.comm).or_default().push(row);
    }
    let most = communicators.values().map(Vec::len).max()?;
    let mut found: Vec<RankBesideOthers<'_>> = communicators.values().flat_map(|rows| beside(rows)).collect();
    found.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
    let Some(first) = found.first() else {
        let unknown = late.lateness.iter().all(|row| row.mean_us.is_none());
        let (verdict, text) = match (unknown, most < RANKS) {
            (true, _) if late.resolved > 0 => {
                (AnswerVerdict::Unknown, "Not known: the begins of too few collectives are known.".into())
            }
            (true, _) => (
                AnswerVerdict::Fine,
                format!(
                    "No rank stands out: in none of {} did a rank begin later than the others by more than the clocks' \
                 error.",
                    counted(late.compared, "compared operation")
                ),
            ),
            (_, true) => (
                AnswerVerdict::Unknown,
                format!(
                    "Not known: no communicator has {RANKS} ranks, and of fewer nobody knows which one is as it should be."
                ),
            ),
            (_, false) => (
                AnswerVerdict::Fine,
                format!(
                    "No rank stands out: over {}, none begins later than its peers do, beyond what is usual among them.",
                    counted(late.compared, "compared operation")
                ),
            ),
        };
        return Some((verdict, text + &most_often(late, names)));
    };
    let row = first.row;
    let name = name(row, names);
    let mut text = format!(
        "{} stands out: it begins {} after the first rank in the mean, others {}. It was last in {} of {} of {}.",
        capital(&name),
        time(first.mean),
        time(first.median),
        count(row.last),
        counted(row.operations, "compared operation"),
        names.communicator(&row.comm)
    );
    let mut others: Vec<String> = found.iter().filter_map(|it| it.row.gpu).map(|gpu| names.gpu(gpu)).collect();
    others.dedup();
    others.retain(|other| *other != name);
    if let [next, rest @ ..] = &others[..] {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        text += &format!(" So does {next}{more}.");
    }
    Some((AnswerVerdict::Look, text + " Sums alone do not say how long others waited for it."))
}

fn name(row: &RankLateness, names: &ReportNames<'_>) -> String {
    row.gpu.map_or_else(|| format!("rank {} of {}", row.rank, row.comm), |gpu| names.gpu(gpu))
}

/// Says which rank was last most often.
fn most_often(late: &Late, names: &ReportNames<'_>) -> String {
    let Some(row) = late.lateness.iter().filter(|row| row.last > 0).max_by_key(|row| row.last) else {
        return String::new();
    };
    format!(
        " {} was last most often: in {} of {} of {}.",
        capital(&name(row, names)),
        count(row.last),
        counted(row.operations, "compared operation"),
        names.communicator(&row.comm)
    )
}

/// Returns the ranks of a communicator that stand out. A rank without a mean was never late.
fn beside<'a>(rows: &[&'a RankLateness]) -> Vec<RankBesideOthers<'a>> {
    if rows.len() < RANKS || rows.iter().all(|row| row.mean_us.is_none()) {
        return vec![];
    }
    let mean = |row: &RankLateness| row.mean_us.unwrap_or(0.0);
    let middle = median(rows.iter().map(|row| mean(row)));
    let deviation = 1.4826 * median(rows.iter().map(|row| (mean(row) - middle).abs()));
    let beside = |row: &&'a RankLateness| RankBesideOthers { row, mean: mean(row), median: middle };
    let stands_out = |it: &RankBesideOthers<'_>| {
        let excess = it.mean - it.median;
        excess > STANDS_OUT * deviation && excess > it.row.error_us
    };
    rows.iter().map(beside).filter(stands_out).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
    (at(values.len() / 2) + at(values.len().saturating_sub(1) / 2)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    /// Says who is late among ranks with these means and an error of 7 us.
    fn said(means: &[f64]) -> Option<String> {
        let row = |(rank, mean): (usize, &f64)| RankLateness {
            gpu: Some(rank),
            comm: "ab00000000000000".into(),
            rank: rank as i32,
            operations: 400,
            mean_us: Some(*mean).filter(|mean| *mean > 0.0),
            error_us: 7.0,
            last: 100,
            ..RankLateness::default()
        };
        let lateness = means.iter().enumerate().map(row).collect();
        let report = sample(8);
        late(&Late { compared: 400, lateness, ..Late::default() }, &ReportNames::of(&report)).map(|(_, text)| text)
    }

    #[test]
    fn a_rank_beyond_its_peers_is_named_and_else_nobody() {
        let usual = [410.0, 380.0, 400.0, 420.0, 395.0, 405.0, 390.0, 412.0];
        let mut slow = usual;
        slow[5] = 700.0;
        let text = said(&slow).unwrap();
        assert!(text.starts_with("Rank 5 stands out: it begins 700 us after the first rank in the mean, others 40"));
        assert!(said(&usual).unwrap().starts_with("No rank stands out"));
        // a difference below the error is none, however alike the others are
        assert!(said(&[5.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap().starts_with("No rank stands out"));
        assert!(said(&[50.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap().starts_with("Rank 0 stands out"));
        assert!(said(&[900.0, 300.0, 100.0]).unwrap().starts_with("Not known: no communicator has 4 ranks"));
        assert!(said(&[0.0; 8]).unwrap().starts_with("No rank stands out"));
        assert_eq!(said(&[]), None);
    }
}
