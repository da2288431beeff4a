//! Times of kernels by CUDA events. A replay has no CUDA, so it passes the recorded times to the library.

use common::launch::{Anchor, Recorded};
use recording::{Kernel, RecordedAnchor, RecordingSurvey};

/// Returns the recorded times around the launch that the event with this handle reports, on the clock that the player
/// shows.
pub(super) fn recorded(survey: &RecordingSurvey, h: u64) -> Option<Recorded> {
    let &Kernel { t, first, last, at, begin, .. } = survey.kernels.get(&h)?;
    let shown = |t| survey.meta.mono0.saturating_add(t);
    let anchor =
        |anchor: &RecordedAnchor| Anchor { from: shown(anchor.from), until: shown(anchor.until), time: anchor.time };
    Some(Recorded {
        first,
        begin,
        last,
        learnt: shown(t),
        at: at.map_or(0, shown),
        anchor: survey.anchors.get(&h).map(anchor),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::{Content, Meta};

    #[test]
    fn times_are_of_the_event_that_reports_the_launch_and_of_no_other() {
        let kernel = |t, h, first| Kernel {
            t,
            tid: 1,
            line: 9,
            h,
            first,
            last: first + 10,
            at: (h == 1).then_some(4),
            begin: (h == 3).then_some(205),
        };
        let origin = Default::default();
        let meta = Meta { api: 5, mask: 0, pid: 1, real0: 0, mono0: 1_000, dropped: 0, full: None, origin };
        let mut survey = RecordingSurvey::new(meta);
        for kernel in [kernel(5, 1, 100), kernel(6, 3, 200), kernel(7, 3, 300)] {
            survey.note(&Content::Kernel(kernel)).unwrap();
        }
        let found = [1, 2, 3, 4].map(|h| recorded(&survey, h));
        let times = |first, begin, learnt, at| Recorded { first, begin, last: first + 10, learnt, at, anchor: None };
        // of two times of one kernel, the first counts
        assert_eq!(found, [Some(times(100, None, 1_005, 1_004)), None, Some(times(200, Some(205), 1_006, 0)), None]);
    }
}
