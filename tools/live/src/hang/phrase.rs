//! Parts of sentences: durations, bytes, operations, processes.

use crate::diagnosis::finding::{CallDifference, DiagnosedCall, DiagnosedProcess, WaitingRanks};
use crate::diagnosis::label;
use crate::diagnosis::ranks::Ranges;
use present::bytes;

/// Longest list of ranks in a sentence, letters.
pub(super) const RANKS: usize = 36;

/// Writes a duration as people say it.
pub(super) fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..120 => format!("{whole} s"),
        120..7200 => format!("{} min", whole / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Writes an operation's elements, root and bytes: `1024 ncclFloat32, root 0, 4 KiB`.
pub(super) fn contents(call: &DiagnosedCall) -> String {
    let elements = call.datatype.as_ref().map(|datatype| match call.count {
        Some(count) => format!("{count} {datatype}"),
        None => datatype.clone(),
    });
    elements
        .into_iter()
        .chain(part(call, CallDifference::Root))
        .chain([bytes(call.bytes as f64)])
        .collect::<Vec<_>>()
        .join(", ")
}

/// Writes a part of a call; `None` where it is not known.
pub(super) fn part(of: &DiagnosedCall, which: CallDifference) -> Option<String> {
    match which {
        CallDifference::Function => Some(of.func.clone()),
        CallDifference::Count => of.count.map(|count| count.to_string()),
        // in full: rounded sizes may look equal
        CallDifference::Bytes => Some(format!("{} B", of.bytes)),
        CallDifference::Datatype => of.datatype.clone(),
        CallDifference::Root => of.root.map(|root| format!("root {root}")),
    }
}

/// Writes an operation with its function and contents.
pub(super) fn call(call: &DiagnosedCall) -> String {
    format!("{}, {}", call.func, contents(call))
}

/// Writes the operation of a wait: `AllReduce #12`.
pub(super) fn operation(wait: &WaitingRanks) -> String {
    let call = wait.call.as_ref();
    let func = call.map_or("collective", |call| call.func.as_str());
    match (wait.number, call.and_then(|call| call.peer)) {
        (Some(number), _) => format!("{func} #{number}"),
        (None, Some(peer)) => format!("{func} ({peer})"),
        (None, None) => func.to_owned(),
    }
}

/// Writes the ranks of a communicator.
pub(super) fn of_ranks(of: &[i32]) -> String {
    Ranges::of(of).named(RANKS)
}

/// Writes the ranks that are waited for.
pub(super) fn lacking(wait: &WaitingRanks) -> String {
    of_ranks(&wait.lacking.iter().map(|rank| rank.rank).collect::<Vec<_>>())
}

/// Writes a wait that another one explains: `ranks 0,1 in AllReduce #12 of communicator a, for 41 s`.
pub(super) fn wait(wait: &WaitingRanks) -> String {
    let whose = if wait.waiters.is_empty() { lacking(wait) } else { of_ranks(&wait.waiters) };
    format!("{whose} in {} of {}, for {}", operation(wait), label(&wait.communicator), duration(wait.seconds))
}

/// Writes a process by its rank in the job, or by its id.
pub(super) fn process(process: &DiagnosedProcess) -> String {
    process.rank.map_or_else(|| place(process), |rank| format!("process {rank}"))
}

/// Writes the place of a process: `pid 4711 on node2`.
pub(super) fn place(process: &DiagnosedProcess) -> String {
    let host = process.host.as_ref().map(|host| format!(" on {host}"));
    format!("pid {}{}", process.pid, host.unwrap_or_default())
}

/// Writes several processes: `processes 0-3`, or their number where they have no ranks.
pub(super) fn processes(of: &[DiagnosedProcess]) -> String {
    if let [one] = of {
        return process(one);
    }
    let mut ranks: Vec<i32> = of.iter().filter_map(|of| of.rank?.try_into().ok()).collect();
    ranks.sort_unstable();
    if ranks.len() == of.len() {
        Ranges::of(&ranks).with_noun(["process", "processes"], RANKS)
    } else {
        format!("{} processes", of.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        assert_eq!([0.26, 9.94, 41.7, 130.0, 7260.0].map(duration), ["0.3 s", "9.9 s", "41 s", "2 min", "2 h 1 min"]);
    }

    #[test]
    fn contents_are_those_that_are_known() {
        let known = DiagnosedCall {
            func: "Reduce".into(),
            count: Some(1024),
            bytes: 4096,
            datatype: Some("ncclFloat32".into()),
            root: Some(1),
            peer: None,
        };
        assert_eq!(call(&known), "Reduce, 1024 ncclFloat32, root 1, 4 KiB");
        // as of an earlier library
        let bytes_alone = DiagnosedCall { count: None, datatype: None, root: None, ..known.clone() };
        assert_eq!(call(&bytes_alone), "Reduce, 4 KiB");
        let parts = |of: &DiagnosedCall| {
            [CallDifference::Count, CallDifference::Bytes, CallDifference::Datatype, CallDifference::Root]
                .map(|which| part(of, which))
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(parts(&known), [text("1024"), text("4096 B"), text("ncclFloat32"), text("root 1")]);
        assert_eq!(parts(&bytes_alone), [None, text("4096 B"), None, None]);
    }

    #[test]
    fn processes_have_their_ranks_in_the_job() {
        let of = |rank| DiagnosedProcess { rank, pid: 7, host: Some("a".into()), file: String::new(), written: 0 };
        assert_eq!(processes(&[of(Some(3))]), "process 3");
        assert_eq!(processes(&[of(Some(1)), of(Some(0))]), "processes 0,1");
        assert_eq!(processes(&[of(None)]), "pid 7 on a");
        assert_eq!(processes(&[of(None), of(Some(1))]), "2 processes");
    }
}
