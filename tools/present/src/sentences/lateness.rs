//! Who is late, by sums alone.

use super::super::names::ReportNames;
use super::super::units::{count, counted, time};
use super::early::capital;
use report::analysis::verdict::{LatenessFinding, MIN_RANKS, RankBesideOthers};
use report::answer::{AnswerVerdict, Late, RankLateness};

/// Returns who stands out, with a verdict; `None` if there is no lateness.
pub(super) fn late(late: &Late, names: &ReportNames<'_>) -> Option<(AnswerVerdict, String)> {
    let finding = LatenessFinding::find(late)?;
    let compared = || counted(late.compared, "compared operation");
    let nobody = match &finding {
        LatenessFinding::StandOut(found) => return Some((finding.verdict(), stand_out(found, names))),
        LatenessFinding::FewBegins => "Not known: the begins of too few collectives are known.".into(),
        LatenessFinding::NoneLate => format!(
            "No rank stands out: in none of {} did a rank begin later than the others by more than the clocks' error.",
            compared()
        ),
        LatenessFinding::FewRanks => format!(
            "Not known: no communicator has {MIN_RANKS} ranks, and of fewer nobody knows which one is as it should be."
        ),
        LatenessFinding::Alike => format!(
            "No rank stands out: over {}, none begins later than its peers do, beyond what is usual among them.",
            compared()
        ),
    };
    Some((finding.verdict(), nobody + &most_often(late, names)))
}

/// Says who stands out, the one that costs most first.
fn stand_out(found: &[RankBesideOthers<'_>], names: &ReportNames<'_>) -> String {
    let Some(first) = found.first() else { return String::new() };
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
    text + " Sums alone do not say how long others waited for it."
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
