//! The threads of this process, as its system shows them.

use crate::base::visible::visible;
use crate::record::thread::ThreadCell;
use std::collections::BTreeMap;
use std::fs;

/// Most threads that are looked at.
const MOST: usize = 256;
/// Most bytes of a thread's stack in the kernel.
const MOST_KERNEL: usize = 1024;

/// A thread of this process.
#[derive(Debug)]
pub(super) struct SystemThread {
    /// Whether it has enqueued operations of NCCL.
    pub(super) launches: bool,
    /// One line: name, state, place in the kernel, processor time.
    pub(super) line: String,
    /// Its stack in the kernel, a function a line, where the user may read it.
    pub(super) kernel: Option<String>,
}

/// The threads that were found, those that launch first, and the number of all.
pub(super) struct SystemThreads {
    pub(super) threads: Vec<SystemThread>,
    pub(super) all: usize,
}

/// Returns the ids of the threads that have enqueued operations, by their handles in the C library.
pub(super) fn launching() -> BTreeMap<u64, u32> {
    let cells = ThreadCell::all().filter(|cell| cell.has_launched());
    cells.filter_map(|cell| Some((cell.handle()?, cell.system_id()?))).collect()
}

/// Looks at the threads.
pub(super) fn look(launching: &BTreeMap<u64, u32>) -> SystemThreads {
    let ids = ids();
    let is_launching = |id: &u32| launching.values().any(|launching| launching == id);
    let (first, rest): (Vec<u32>, Vec<u32>) = ids.iter().copied().partition(is_launching);
    let threads = first.into_iter().chain(rest).take(MOST);
    let threads = threads.filter_map(|id| thread(id, is_launching(&id))).collect();
    SystemThreads { threads, all: ids.len() }
}

/// Returns the ids of this process' threads.
fn ids() -> Vec<u32> {
    let mut ids = Vec::new();
    // the standard library's reader panics if the program has closed its descriptor
    // SAFETY: the stream is this function's; an entry is read before the next one is.
    unsafe {
        let directory = libc::opendir(c"/proc/self/task".as_ptr());
        if directory.is_null() {
            return ids;
        }
        loop {
            let entry = libc::readdir64(directory);
            if entry.is_null() {
                break;
            }
            let name = std::ffi::CStr::from_ptr((*entry).d_name.as_ptr());
            ids.extend(name.to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        }
        libc::closedir(directory);
    }
    ids.sort_unstable();
    ids
}

fn thread(id: u32, launches: bool) -> Option<SystemThread> {
    let file = |name: &str| fs::read(format!("/proc/self/task/{id}/{name}")).ok();
    let text = |name: &str| file(name).map(|bytes| visible(String::from_utf8_lossy(&bytes).trim_end()));
    // it may have ended
    let stat = text("stat")?;
    let (state, ticks) = of_stat(&stat)?;
    // SAFETY: sysconf accepts any name.
    let each = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    let mut line = format!("{id} {} {}: {state}", text("comm")?, if launches { "(launches)" } else { "" });
    line = line.replace(" :", ":");
    let mut add = |part: String| line.extend([", ", &part]);
    if let Some(place) = text("wchan").filter(|place| !matches!(place.as_str(), "" | "0")) {
        add(format!("in the kernel's {place}"));
    }
    // the arguments behind it are addresses
    let call = text("syscall").and_then(|call| call.split(' ').next()?.parse::<i64>().ok());
    if let Some(call) = call.filter(|call| *call >= 0) {
        add(format!("system call {call}"));
    }
    add(format!("{:.2} s of processor", ticks as f64 / each));
    let kernel = file("stack").map(|bytes| {
        let text = String::from_utf8_lossy(bytes.get(..MOST_KERNEL).unwrap_or(&bytes)).into_owned();
        text.lines().map(|line| format!("  {}", visible(line))).collect::<Vec<_>>().join("\n")
    });
    Some(SystemThread { launches, line, kernel: kernel.filter(|kernel| !kernel.is_empty()) })
}

/// Returns the state of a thread in words, and its ticks of processor time, from its `stat`.
fn of_stat(stat: &str) -> Option<(&'static str, u64)> {
    // the name may have any letter
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let state = match *fields.first()? {
        "R" => "runs",
        "S" => "sleeps",
        "D" => "waits in the kernel (D)",
        "T" | "t" => "is stopped",
        "Z" | "X" => "has ended",
        "I" => "idles",
        _ => "is in an unknown state",
    };
    let ticks = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some((state, ticks(11)?.saturating_add(ticks(12)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_any_letter_does_not_move_the_fields() {
        let rest = "0 0 0 0 0 0 0 0 0 0 7 5 0 0";
        assert_eq!(of_stat(&format!("42 (a) R (b) S {rest}")), Some(("sleeps", 12)));
        assert_eq!(of_stat(&format!("42 (x) D {rest}")), Some(("waits in the kernel (D)", 12)));
        assert_eq!([of_stat("42 (x"), of_stat("42 (x) S 1 2")], [None, None]);
    }

    #[test]
    fn the_threads_of_this_process_are_found_and_those_that_launch_come_first() {
        let own = u32::try_from(crate::base::own_thread::number()).unwrap();
        let found = look(&BTreeMap::from([(1, own)]));
        assert!(found.all >= 1 && found.threads[0].launches);
        assert!(found.threads[0].line.contains("(launches): "), "{}", found.threads[0].line);
        assert!(found.threads.iter().skip(1).all(|thread| !thread.launches));
    }
}
