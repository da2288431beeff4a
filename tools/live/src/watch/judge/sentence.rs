//! One sentence for each finding.

use super::finding::{FindingChange, FindingExcess, FindingSince, FindingSubject, WatchedProcess};
use super::hang::{HangChange, HangNews};
use common::origin::wall_clock;
use report::analysis::stragglers::rules::MIN_RANKS;

/// How the sentences of a hang and of ends begin.
const HANGS: &str = "the job hangs: ";
const GOES_ON: &str = "it goes on; over: ";
const OVER: &str = "over: ";
/// What follows the cause of a hang that begins: the wait, and the way out.
const WAITED: &str = "; it has waited for ";
const MORE: &str = "; `scorep-nccl hang DIR` has more.";

/// Most ranks that a sentence names.
const MOST: usize = 8;

/// Returns the sentence of anything that is no hang.
pub(super) fn of(change: FindingChange, subject: &FindingSubject) -> String {
    let is_over = change == FindingChange::Over;
    match subject {
        FindingSubject::Rank { rank, .. } if is_over => format!("{} stands out no more.", named(rank)),
        FindingSubject::Rank { rank, excess } => {
            format!("{} stands out: {}.", named(rank), excess.as_ref().map(longer).unwrap_or_default())
        }
        FindingSubject::Node { host, .. } if is_over => format!("node {host} stands out no more."),
        FindingSubject::Node { host, ranks, excess } => format!(
            "node {host} stands out, with {}: {}.",
            listed(ranks),
            excess.as_ref().map(longer).unwrap_or_default()
        ),
        FindingSubject::Link { from, to, .. } if is_over => {
            format!("the link from {} to {} is as fast as others again.", named(from), named(to))
        }
        FindingSubject::Link { from, to, rate } => {
            let rate = rate.as_ref().map(|it| {
                let share = 100.0 * (1.0 - it.rate / it.usual);
                let kind = if it.within_node { "within nodes" } else { "between nodes" };
                let [rate, usual] = [it.rate, it.usual].map(|rate| rate / 1e9);
                let usual = match it.links {
                    1 => format!("its usual {usual:.2} GB/s beside the other link {kind}"),
                    links if links + 1 < MIN_RANKS => format!("its usual {usual:.2} GB/s beside {links} links {kind}"),
                    links => format!("the {usual:.2} GB/s of {links} links {kind}"),
                };
                format!(": {rate:.2} GB/s, {share:.0} % below {usual}")
            });
            format!("the link from {} to {} is slow{}.", named(from), named(to), rate.unwrap_or_default())
        }
        FindingSubject::Pause { ranks, seconds, since } => {
            format!("{} paused once, for {}, {}.", listed(ranks), time(*seconds), after(since))
        }
        // their causes have sentences of their own: `of_hang`
        FindingSubject::Hang { .. } | FindingSubject::Process => String::new(),
        FindingSubject::Job { processes } => format!("the job is over: all of its {processes} processes have ended."),
    }
}

/// Returns the sentence of a hang or of processes.
pub(super) fn of_hang(news: &HangNews) -> String {
    let cause = cause_of(&news.text);
    let waited = news.seconds.map(|seconds| format!("{WAITED}{seconds:.0} s")).unwrap_or_default();
    match news.change {
        HangChange::GoesOn => format!("{GOES_ON}{cause}."),
        HangChange::Over => format!("{OVER}{cause}."),
        HangChange::Begins => format!("{}{cause}{waited}{MORE}", if news.is_process { "" } else { HANGS }),
    }
}

/// Returns the cause in the sentence of a hang or of processes: the same at its begin and its end.
pub fn cause_of(text: &str) -> &str {
    let cause = [HANGS, GOES_ON, OVER].iter().find_map(|begin| text.strip_prefix(begin)).unwrap_or(text);
    let cause = cause.strip_suffix(MORE).unwrap_or(cause);
    let cause = cause.rsplit_once(WAITED).map_or(cause, |(cause, _)| cause);
    cause.strip_suffix('.').unwrap_or(cause)
}

fn longer(it: &FindingExcess) -> String {
    let gain = if it.gain_at_most > 0.0 {
        format!("up to {:.1} % of the time to gain", 100.0 * it.gain_at_most)
    } else {
        "nothing to gain by it alone, since another rank is as slow".into()
    };
    let peers = if it.peers == 1 { "its peer".into() } else { format!("{} peers", it.peers) };
    format!(
        "own time {} longer than that of {peers} in {} ({:.1} %, z {:.0}), {}; {gain}",
        time(it.seconds),
        time(it.window),
        100.0 * it.share,
        it.z.min(1e6),
        after(&it.since)
    )
}

fn after(since: &FindingSince) -> String {
    let name = if since.name.is_empty() { &since.communicator } else { &since.name };
    format!("since collective {} of communicator {name} ended ({})", since.number, since.time)
}

/// Returns a rank with its host, and with its process where no launcher has given it the rank.
fn named(of: &WatchedProcess) -> String {
    let host = of.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    // ranks of two communicators may be the same
    let pid = if of.of_communicator { format!(" (process {})", of.pid) } else { String::new() };
    format!("rank {}{host}{pid}", of.rank)
}

fn listed(ranks: &[WatchedProcess]) -> String {
    if let [one] = ranks {
        return named(one);
    }
    let named: Vec<String> = ranks.iter().take(MOST).map(|rank| rank.rank.to_string()).collect();
    let more = ranks.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("ranks {}{more}", named.join(", "))
}

/// Returns a time with a unit that suits it.
fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1e-3 => format!("{:.0} us", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}

/// Returns nanoseconds since the Epoch as text, UTC.
pub(super) fn text_of(time: u64) -> String {
    wall_clock(i128::from(time)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_the_same_at_its_begin_and_its_end() {
        let text = "rank 3 has not entered AllReduce #7 of communicator dp.".to_owned();
        let of = |change, is_process, seconds| of_hang(&HangNews { change, is_process, seconds, text: text.clone() });
        let begins = of(HangChange::Begins, false, Some(12.2));
        let cause = "rank 3 has not entered AllReduce #7 of communicator dp";
        assert_eq!(begins, format!("the job hangs: {cause}; it has waited for 12 s; `scorep-nccl hang DIR` has more."));
        let of_process = of(HangChange::Begins, true, None);
        let over = of(HangChange::Over, false, None);
        assert_eq!(
            [over.as_str(), of_process.as_str()],
            [format!("over: {cause}.").as_str(), format!("{cause}; `scorep-nccl hang DIR` has more.").as_str()]
        );
        for text in [begins, over, of_process, of(HangChange::GoesOn, false, None), text.clone()] {
            assert_eq!(cause_of(&text), cause, "{text}");
        }
    }
}
