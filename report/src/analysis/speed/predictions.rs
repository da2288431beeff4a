//! NCCL's own predictions, and the one for a row.

use super::shape::factor;
use crate::answer::SpeedRow;
use common::operation::size_factor;
use common::summary::{Predicted, Summary};
use rustc_hash::FxHashMap;

/// Largest number of predictions that are kept.
const MOST: usize = 1 << 14;

/// Sums up equal predictions.
fn summed_up(predicted: Vec<Predicted>) -> Vec<Predicted> {
    Summary::merge(vec![Summary { predicted, ..Summary::merge(vec![]) }]).predicted
}

/// Predictions of the processes of a job. Those of a communicator's ranks are equal, and count as one.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Predictions {
    rows: Vec<Predicted>,
    /// Whether there were more.
    is_cut: bool,
}

impl Predictions {
    /// Adds those of a process.
    pub(in crate::analysis) fn add(&mut self, rows: Vec<Predicted>) {
        self.rows.extend(rows);
        if self.rows.len() > 2 * MOST {
            self.sum_up();
        }
    }

    fn sum_up(&mut self) {
        self.rows = summed_up(std::mem::take(&mut self.rows));
        self.is_cut |= self.rows.len() > MOST;
        self.rows.truncate(MOST);
    }

    /// Returns all, and whether there were more.
    pub(in crate::analysis) fn finish(mut self) -> (Vec<Predicted>, bool) {
        self.sum_up();
        (self.rows, self.is_cut)
    }
}

/// Predictions by communicator, which is empty before NCCL 2.28, and function.
pub(in crate::analysis) struct ByFunction<'a>(FxHashMap<(&'a str, &'a str), Vec<&'a Predicted>>);

impl<'a> ByFunction<'a> {
    pub(in crate::analysis) fn of(rows: &'a [Predicted]) -> Self {
        let mut all: FxHashMap<_, Vec<&Predicted>> = FxHashMap::default();
        // the prediction of operations that follow each other on a channel is not that of one
        for row in rows.iter().filter(|row| row.pipelined <= 1) {
            all.entry((row.comm.as_deref().unwrap_or_default(), row.func.as_str())).or_default().push(row);
        }
        Self(all)
    }

    /// Returns the predictions of a row's operations: of its communicator, function and sizes, for the algorithm and
    /// protocol that they ran.
    fn of_row(&self, row: &SpeedRow) -> Vec<&'a Predicted> {
        let factor = factor(row, size_factor);
        let [from, to] = [row.from_bytes, row.to_bytes].map(|bytes| bytes as f64 * factor);
        let found = |comm| self.0.get(&(comm, row.function.as_str())).into_iter().flatten();
        let is_alike = |it: &&Predicted| it.comm.is_some() || (it.nranks, it.nnodes) == (row.nranks, row.nnodes);
        let is_meant = |it: &&Predicted| {
            let (algorithm, protocol, _) = it.choice();
            let is_same = (algorithm, protocol) == (row.algorithm.as_str(), row.protocol.as_str());
            is_same && (from..=to).contains(&(it.bytes as f64))
        };
        found(row.comm.as_str()).chain(found("")).copied().filter(is_alike).filter(is_meant).collect()
    }

    /// Fills in the median of the predicted times of a row's operations, and the median transfer over it. Returns NCCL's
    /// own time for the way that a tuner of the user's chose over the one of its choice, the least ratio of the row;
    /// `None` where no tuner changed the choice.
    pub(in crate::analysis) fn fill(&self, row: &mut SpeedRow) -> Option<f64> {
        let all = self.of_row(row);
        let mut times: Vec<(f64, u64)> = all.iter().filter_map(|it| Some((it.choice().2?, it.calls))).collect();
        times.sort_by(|one, other| one.0.total_cmp(&other.0));
        let calls = times.iter().map(|(_, calls)| *calls).fold(0, u64::saturating_add);
        let mut before = 0_u64;
        let middle = times.iter().find(|(_, calls_of)| {
            before = before.saturating_add(*calls_of);
            before >= calls.div_ceil(2)
        });
        row.predicted_us = middle.map(|(us, _)| *us);
        row.of_predicted = row.median_us.zip(row.predicted_us).map(|(median, predicted)| median / predicted);
        let slower = |it: &&Predicted| Some(it.tuner.as_ref()?.predicted_us? / it.predicted_us);
        // where NCCL chose some of the operations itself, the row is not the tuner's
        let are_changed = all.iter().all(|it| it.tuner.is_some());
        all.iter().filter_map(slower).filter(|ratio| ratio.is_finite() && are_changed).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::summary::TunerChoice;

    fn predicted(bytes: u64, predicted_us: f64, calls: u64) -> Predicted {
        Predicted {
            comm: Some("00000000000000ab".into()),
            nranks: 4,
            nnodes: 2,
            func: "AllGather".into(),
            bytes,
            pipelined: 1,
            registered: false,
            candidates: 5,
            algorithm: "RING".into(),
            protocol: "LL".into(),
            predicted_us,
            tuner: None,
            calls,
            measured: vec![],
        }
    }

    fn row() -> SpeedRow {
        SpeedRow {
            function: "AllGather".into(),
            comm: "00000000000000ab".into(),
            nranks: 4,
            nnodes: 2,
            from_bytes: 1024,
            to_bytes: 2047,
            algorithm: "RING".into(),
            protocol: "LL".into(),
            median_us: Some(30.0),
            ..SpeedRow::default()
        }
    }

    fn filled(all: &[Predicted], row: &SpeedRow) -> ([Option<f64>; 2], Option<f64>) {
        let mut row = row.clone();
        let of_fastest = ByFunction::of(all).fill(&mut row);
        ([row.predicted_us, row.of_predicted], of_fastest)
    }

    #[test]
    fn a_row_has_the_median_of_its_operations_predictions() {
        // an all-gather's bytes are those of one rank
        let all = [predicted(4096, 10.0, 3), predicted(6000, 20.0, 4), predicted(8192, 90.0, 9)];
        assert_eq!(filled(&all, &row()).0, [Some(20.0), Some(1.5)]);
        assert_eq!(filled(&all, &SpeedRow { median_us: None, ..row() }).0, [Some(20.0), None]);
        let nameless = [Predicted { comm: None, ..predicted(4096, 15.0, 1) }];
        assert_eq!(filled(&nameless, &row()).0, [Some(15.0), Some(2.0)]);
    }

    #[test]
    fn predictions_of_other_operations_are_not_a_rows() {
        let others = [
            Predicted { comm: Some("00000000000000ac".into()), ..predicted(4096, 1.0, 1) },
            Predicted { comm: None, nnodes: 1, ..predicted(4096, 1.0, 1) },
            Predicted { func: "AllReduce".into(), ..predicted(4096, 1.0, 1) },
            Predicted { protocol: "SIMPLE".into(), ..predicted(4096, 1.0, 1) },
            Predicted { pipelined: 2, ..predicted(4096, 1.0, 1) },
            Predicted { predicted_us: 0.0, ..predicted(4096, 1.0, 1) },
            predicted(1024, 1.0, 1),
        ];
        assert_eq!(filled(&others, &row()), ([None, None], None));
    }

    #[test]
    fn a_tuners_choice_has_nccls_own_time_and_its_ratio_to_nccls_choice() {
        let tuner = |us| TunerChoice {
            algorithm: "RING".into(),
            protocol: "LL".into(),
            predicted_us: Some(us),
            channels: None,
        };
        let of = |us| Predicted { algorithm: "TREE".into(), tuner: Some(tuner(us)), ..predicted(4096, 10.0, 1) };
        assert_eq!(filled(&[of(30.0), of(60.0)], &row()), ([Some(30.0), Some(1.0)], Some(3.0)));
        // NCCL chose some itself
        assert_eq!(filled(&[of(30.0), predicted(4096, 10.0, 1)], &row()).1, None);
    }

    #[test]
    fn predictions_of_all_ranks_count_as_one() {
        let mut all = Predictions::default();
        for _ in 0..3 {
            all.add((0..20_000).map(|bytes| predicted(bytes, 1.0, 1)).collect());
        }
        let (rows, is_cut) = all.finish();
        assert!(is_cut && rows.len() == MOST && rows.iter().all(|row| row.calls == 3), "{}", rows.len());
    }
}
