//! The answers of a job's processes to a request.

use crate::statuses::{FRESH, is_elsewhere, is_gone};
use common::status::Status;
use common::status::request::{RequestAnswer, To};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The processes that are asked, by the names of their files, with their answers.
pub(super) struct Answers(BTreeMap<String, AskedProcess>);

struct AskedProcess {
    name: String,
    /// The process, as a request names it.
    process: To,
    /// Number of its last writing, and when that was first seen.
    beat: (u64, Instant),
    /// Whether it belongs to another host, and has written nothing for a while: it may be dead.
    is_silent: bool,
    /// Ticket of its answer to a request before this one.
    before: Option<String>,
    answer: Option<RequestAnswer>,
    /// Whether it has ended, so that it answers no more.
    has_ended: bool,
    /// Whether it has answered another request that took this one's place.
    has_another: bool,
}

/// What has become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// Each process has done it.
    Done,
    /// Each process has done it, some of them in part.
    InPart,
    /// Some have not done it.
    NotDone,
}

impl Answers {
    /// Returns the processes that may answer: those that have not ended, as far as this host knows.
    pub(super) fn awaited(statuses: Vec<(String, Status)>, now: Instant) -> Self {
        let running = statuses.into_iter().filter(|(_, status)| status.over.is_none() && !is_gone(status));
        let asked = |status: Status| AskedProcess {
            name: name(&status),
            process: To::Process { host: status.origin.host.clone(), pid: status.pid, born: status.born },
            beat: (status.beat, now),
            is_silent: false,
            before: status.answer.map(|answer| answer.ticket),
            answer: None,
            has_ended: false,
            has_another: false,
        };
        Self(running.map(|(file, status)| (file, asked(status))).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the process that is asked, if it is one alone.
    pub(super) fn only(&self) -> Option<&To> {
        self.0.values().next().filter(|_| self.0.len() == 1).map(|asked| &asked.process)
    }

    /// Takes the answers to this request in. `is_replaced` says that another request has taken its place.
    pub(super) fn take(&mut self, statuses: Vec<(String, Status)>, ticket: &str, is_replaced: bool, now: Instant) {
        for (file, status) in statuses {
            let Some(asked) = self.0.get_mut(&file) else { continue };
            match &status.answer {
                Some(answer) if answer.ticket == ticket => asked.answer = Some(answer.clone()),
                Some(answer) => asked.has_another = is_replaced && asked.before.as_ref() != Some(&answer.ticket),
                None => {}
            }
            asked.has_ended = status.over.is_some() || is_gone(&status);
            if asked.beat.0 != status.beat {
                asked.beat = (status.beat, now);
            }
            // only its own host can say whether it lives
            let is_old = now.duration_since(asked.beat.1) >= Duration::from_secs_f64(FRESH);
            asked.is_silent = is_old && is_elsewhere(&status);
        }
    }

    /// Takes those that have done a request for stacks without writing any as refusing it.
    pub(super) fn want_stacks(&mut self) {
        for answer in self.0.values_mut().filter_map(|asked| asked.answer.as_mut()) {
            if answer.stacks.is_none() && answer.refused.is_none() {
                answer.refused = Some("its library is older than this tool, and cannot write stacks".into());
            }
        }
    }

    /// Returns the processes that have written their stacks, with the names of the files.
    pub(super) fn stacks(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.values().filter_map(|asked| Some((asked.name.as_str(), asked.answer.as_ref()?.stacks.as_deref()?)))
    }

    /// Returns whether no further answer will come.
    pub(super) fn are_all(&self) -> bool {
        let will_not = |asked: &AskedProcess| asked.has_ended || asked.has_another || asked.is_silent;
        self.0.values().all(|asked| asked.answer.is_some() || will_not(asked))
    }

    /// Returns what has become of the request.
    pub(super) fn outcome(&self) -> RequestOutcome {
        let all = self.0.len();
        match self.taken().count() {
            done if done < all => RequestOutcome::NotDone,
            _ if self.taken().any(|answer| answer.left_out.is_some()) => RequestOutcome::InPart,
            _ => RequestOutcome::Done,
        }
    }

    /// Returns the answers of those that have done it, at least in part.
    fn taken(&self) -> impl Iterator<Item = &RequestAnswer> {
        self.0.values().filter_map(|asked| asked.answer.as_ref()).filter(|answer| answer.refused.is_none())
    }

    /// Returns the answers for a person; at most `most` processes of a kind are named.
    pub(super) fn text(&self, most: usize) -> String {
        let all = self.0.len();
        let in_part = self.taken().filter(|answer| answer.left_out.is_some()).count();
        let in_part = if in_part > 0 { format!(", {in_part} of them in part") } else { String::new() };
        let mut lines = vec![format!("{} of {all} processes have taken the request{in_part}.", self.taken().count())];
        let summaries: Vec<&String> = self.taken().filter_map(|answer| answer.summary.as_ref()).collect();
        lines.extend(summaries.iter().take(most).map(|path| format!("Summary: {path}")));
        lines.extend(more(summaries.len(), most, "summaries"));
        lines.extend(self.reasons("Refused", most, |answer| answer.refused.as_ref()));
        lines.extend(self.reasons("Left out in part", most, |answer| answer.left_out.as_ref()));
        let silent: Vec<&AskedProcess> = self.0.values().filter(|asked| asked.answer.is_none()).collect();
        let line = |asked: &&AskedProcess| {
            let why = match asked {
                AskedProcess { has_ended: true, .. } => "has ended meanwhile",
                AskedProcess { has_another: true, .. } => "has taken a later request in place of this one",
                AskedProcess { is_silent: true, .. } => {
                    "has written nothing for 5 s: it is dead or stopped, or its host is cut off"
                }
                _ => "has not answered",
            };
            format!("{} {why}.", asked.name)
        };
        lines.extend(silent.iter().take(most).map(line));
        lines.extend(more(silent.len(), most, "processes without an answer"));
        lines.join("\n") + "\n"
    }

    /// Returns a line for each reason, with the processes that have it.
    fn reasons(&self, verb: &str, most: usize, of: impl Fn(&RequestAnswer) -> Option<&String>) -> Vec<String> {
        let mut reasons: BTreeMap<&String, Vec<&str>> = BTreeMap::new();
        for asked in self.0.values() {
            if let Some(reason) = asked.answer.as_ref().and_then(&of) {
                reasons.entry(reason).or_default().push(&asked.name);
            }
        }
        let line = |(reason, names): (&String, Vec<&str>)| {
            let shown = names.iter().take(most).copied().collect::<Vec<_>>().join(", ");
            let more = names.len().checked_sub(most).filter(|&more| more > 0);
            let more = more.map(|more| format!(" and {more} others")).unwrap_or_default();
            format!("{verb} by {shown}{more}: {reason}")
        };
        reasons.into_iter().take(most).map(line).collect()
    }
}

fn more(number: usize, most: usize, noun: &str) -> Option<String> {
    let more = number.checked_sub(most).filter(|&more| more > 0)?;
    Some(format!("And {more} further {noun}."))
}

fn name(status: &Status) -> String {
    let host = status.origin.host.as_deref().unwrap_or("an unknown host");
    match status.origin.rank {
        Some(rank) => format!("process {rank} (pid {} on {host})", status.pid),
        None => format!("pid {} on {host}", status.pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Instant {
        Instant::now()
    }

    fn status(pid: u32, answer: Option<RequestAnswer>) -> (String, Status) {
        (format!("{pid}"), Status { pid, answer, ..Status::default() })
    }

    #[test]
    fn answers_to_this_request_count() {
        let mut answers = Answers::awaited(vec![status(1, None), status(2, None), status(3, None)], now());
        let to = |ticket: &str, refused: Option<&str>| {
            Some(RequestAnswer {
                ticket: ticket.into(),
                refused: refused.map(str::to_owned),
                ..RequestAnswer::default()
            })
        };
        answers.take(
            vec![status(1, to("a", None)), status(2, to("b", None)), status(3, to("a", Some("why")))],
            "a",
            false,
            now(),
        );
        assert!(!answers.are_all() && answers.outcome() == RequestOutcome::NotDone);
        let text = answers.text(3);
        assert!(text.starts_with("1 of 3 processes have taken the request.\n"), "{text}");
        assert!(text.contains("Refused by pid 3 on an unknown host: why\n"), "{text}");
        assert!(text.contains("pid 2 on an unknown host has not answered.\n"), "{text}");
        answers.take(vec![status(2, to("a", None)), status(3, to("a", None))], "a", false, now());
        assert!(answers.are_all() && answers.outcome() == RequestOutcome::Done);
    }

    #[test]
    fn what_is_left_out_makes_it_done_in_part() {
        let mut answers = Answers::awaited(vec![status(1, None), status(2, None)], now());
        let answer = |left_out: Option<&str>| {
            Some(RequestAnswer {
                ticket: "a".into(),
                left_out: left_out.map(str::to_owned),
                ..RequestAnswer::default()
            })
        };
        answers.take(vec![status(1, answer(None)), status(2, answer(Some("why")))], "a", false, now());
        assert!(answers.are_all() && answers.outcome() == RequestOutcome::InPart);
        let text = answers.text(3);
        assert!(text.starts_with("2 of 2 processes have taken the request, 1 of them in part.\n"), "{text}");
        assert!(text.contains("Left out in part by pid 2 on an unknown host: why\n"), "{text}");
    }

    #[test]
    fn who_answers_a_later_request_is_not_waited_for() {
        let answered =
            |pid, ticket: &str| status(pid, Some(RequestAnswer { ticket: ticket.into(), ..RequestAnswer::default() }));
        let mut answers = Answers::awaited(vec![answered(1, "before"), answered(2, "before")], now());
        answers.take(vec![answered(1, "a"), answered(2, "before")], "a", false, now());
        answers.take(vec![answered(1, "b"), answered(2, "before")], "a", true, now());
        assert!(!answers.are_all());
        answers.take(vec![answered(1, "b"), answered(2, "b")], "a", true, now());
        assert!(answers.are_all() && answers.outcome() == RequestOutcome::NotDone);
        let text = answers.text(3);
        assert!(text.starts_with("1 of 2 ") && text.contains("pid 2 on an unknown host has taken a later"), "{text}");
    }

    #[test]
    fn a_process_that_has_ended_is_not_asked_and_not_waited_for() {
        let over = |mut of: (String, Status)| {
            of.1.over = Some(1);
            of
        };
        assert!(Answers::awaited(vec![over(status(1, None))], now()).is_empty());
        let mut answers = Answers::awaited(vec![status(1, None)], now());
        answers.take(vec![over(status(1, None))], "a", false, now());
        assert!(answers.are_all() && answers.outcome() == RequestOutcome::NotDone);
    }

    #[test]
    fn a_process_of_another_host_that_writes_no_more_is_not_waited_for() {
        let of = |host: &str, beat| {
            let (file, mut status) = status(1, None);
            (status.beat, status.origin.host) = (beat, Some(host.into()));
            (file, status)
        };
        let begun = now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut answers = Answers::awaited(vec![of("elsewhere", 1)], begun);
        answers.take(vec![of("elsewhere", 1)], "a", false, after(4));
        assert!(!answers.are_all());
        answers.take(vec![of("elsewhere", 2)], "a", false, after(6));
        assert!(!answers.are_all());
        answers.take(vec![of("elsewhere", 2)], "a", false, after(12));
        assert!(answers.are_all() && answers.outcome() == RequestOutcome::NotDone);
        let text = answers.text(3);
        assert!(text.contains("pid 1 on elsewhere has written nothing for 5 s: it is dead or stopped"), "{text}");
        // one of this host is known to live, and may be stopped for a while
        let own = String::from_utf8(common::host_name::of_machine()).unwrap();
        let mut answers = Answers::awaited(vec![of(&own, 1)], begun);
        answers.take(vec![of(&own, 1)], "a", false, after(12));
        assert!(!answers.0.values().any(|asked| asked.is_silent));
    }
}
