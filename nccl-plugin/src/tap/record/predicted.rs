//! NCCL's predictions in a recording: each in a line of its own, in the first part after NCCL made it, and again at the
//! end if it was made more often by then. The store of predictions bounds their number.

use common::summary::Predicted;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// The predictions that are in the file.
#[derive(Debug, Default)]
pub(super) struct WrittenPredictions {
    /// The calls of each, by the rest of its line.
    calls: FxHashMap<String, u64>,
}

impl WrittenPredictions {
    /// Writes those of `all` that the file lacks; at the end, also those whose number of calls has changed. `time` is
    /// that of the lines.
    ///
    /// # Errors
    /// If a line cannot be written.
    pub(super) fn write(
        &mut self,
        out: &mut dyn Write,
        all: Vec<Predicted>,
        time: u64,
        is_end: bool,
    ) -> io::Result<()> {
        if all.len() == self.calls.len() && !is_end {
            return Ok(());
        }
        for row in all {
            let kind = Predicted { calls: 0, ..row.clone() }.json();
            let before = self.calls.get(&kind).copied();
            if before.is_none() || (is_end && before != Some(row.calls)) {
                writeln!(out, r#"{{"t":{time},"tid":1,"cb":"predicted","prediction":{}}}"#, row.json())?;
                self.calls.insert(kind, row.calls);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: u64, calls: u64) -> Predicted {
        Predicted {
            comm: Some("00000000000000ab".into()),
            nranks: 2,
            nnodes: 1,
            func: "AllReduce".into(),
            bytes,
            pipelined: 1,
            registered: false,
            candidates: 5,
            algorithm: "RING".into(),
            protocol: "LL".into(),
            predicted_us: 8.25,
            tuner: None,
            calls,
            measured: vec![],
        }
    }

    #[test]
    fn each_prediction_is_written_when_new_and_at_the_end_with_its_last_number_of_calls() {
        let mut written = WrittenPredictions::default();
        let mut lines = |all: &[(u64, u64)], is_end| {
            let mut out = vec![];
            let all = all.iter().map(|&(bytes, calls)| row(bytes, calls)).collect();
            written.write(&mut out, all, 7, is_end).unwrap();
            let text = String::from_utf8(out).unwrap();
            let head = r#"{"t":7,"tid":1,"cb":"predicted","prediction":{"comm":"00000000000000ab","#;
            assert!(text.lines().all(|line| line.starts_with(head)), "{text}");
            text.lines().count()
        };
        assert_eq!(lines(&[(8, 1)], false), 1);
        assert_eq!(lines(&[(8, 5)], false), 0);
        assert_eq!(lines(&[(8, 5), (16, 2)], false), 1);
        // one has other calls than its line, the other has not
        assert_eq!(lines(&[(8, 5), (16, 2)], true), 1);
    }
}
