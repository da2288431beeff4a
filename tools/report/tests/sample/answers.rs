//! The sample's answers: one of each verdict but the unknown one.

use super::groups::Groups;
use super::scale::{LATE, STEP_US};
use report::answer::{AnswerVerdict, Answers, Verdicted};

pub(super) fn of(groups: &Groups) -> Answers {
    let late = LATE.min(groups.ranks - 1);
    let gain = 0.032;
    Answers {
        late: Verdicted {
            verdict: AnswerVerdict::Bad,
            text: format!(
                "Without rank {late}'s extra time a step would take 19.4 ms instead of 20.0 ms. No other rank stands \
                 out; random differences of all ranks cost 1.2 % of a step. Rank 0 paused once, for 6.00 ms, in step \
                 31."
            ),
            gain_us: Some(gain * STEP_US),
            gain_least_us: None,
            gain_most_us: None,
            gain: Some(gain),
            when: "In all 57 steps.".into(),
            why: "The calls are there, and the GPU is not: they begin 690 us after their enqueue.".into(),
            next: format!("Look at the clock and the temperature of rank {late}'s GPU on node00."),
        },
        cost: Verdicted {
            verdict: AnswerVerdict::Look,
            text: "Communication beside which nothing is computed takes 14 % of a step, 2.77 ms of 20.0 ms: 3.2 % \
                   waiting for other ranks, 11 % transferring. Another 17 % of a step is communication beside \
                   computation."
                .into(),
            next: "Start the all-reduces of DP earlier: they are the transfers that nothing is computed beside.".into(),
            ..Verdicted::default()
        },
        network: Verdicted {
            verdict: AnswerVerdict::Fine,
            text: "AllReduce of 64 MiB (DP) reaches three quarters of its link. 1 pair is slow.".into(),
            ..Verdicted::default()
        },
    }
}
