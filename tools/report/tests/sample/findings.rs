//! Findings of a watch: a slow rank, a pause, a slow link that recovered, and a hang.

use super::groups::Groups;
use super::scale::LATE;
use report::answer::{ReportedFinding, WatchFindings};

/// Makes the findings, as far as the job has the ranks.
pub(super) fn of(groups: &Groups) -> WatchFindings {
    let time = |minute: u32| Some(format!("2026-11-28T02:{minute:02}:24.5Z"));
    let late = LATE.min(groups.ranks - 1);
    let node = |rank: usize| format!("node{:02}", groups.node(rank));
    let row = |kind: &str, who: String, hosts: String, minute| ReportedFinding {
        kind: kind.to_owned(),
        who,
        hosts,
        job: Some("slurm 7, step 0".to_owned()),
        found: time(minute),
        lines: 1,
        ..ReportedFinding::default()
    };
    let rank = ReportedFinding {
        since: time(1),
        lasts: true,
        communicator: groups.list.first().map(|group| group.id()),
        collective: Some(160),
        excess_us: Some(81_000.0),
        window_us: Some(1.02e6),
        share: Some(0.079),
        gain_at_most: Some(0.075),
        z: Some(41.5),
        text: format!("rank {late} on {} stands out.", node(late)),
        ..row("rank", format!("rank {late}"), node(late), 2)
    };
    let pause = ReportedFinding {
        since: time(3),
        excess_us: Some(5.1e6),
        text: format!("rank 0 on {} paused once.", node(0)),
        ..row("pause", "rank 0".to_owned(), node(0), 4)
    };
    let link = ReportedFinding {
        until: time(8),
        lines: 2,
        rate_gb_s: Some(14.2),
        usual_gb_s: Some(37.5),
        text: format!("the link from rank 0 to rank {late} is slow."),
        ..row("link", format!("rank 0 to rank {late}"), node(0), 5)
    };
    let hang = ReportedFinding {
        lasts: true,
        text: format!("the job hangs: rank {late} has not entered collective 171, which all others wait for."),
        ..row("hang", String::new(), String::new(), 9)
    };
    WatchFindings { rows: vec![rank, pause, link, hang], lines: 5, ..WatchFindings::default() }
}
