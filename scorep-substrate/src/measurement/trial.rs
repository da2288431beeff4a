//! A trial of a release of Score-P that nobody has tried: a child process writes a location with the functions that
//! lanes need. On a wrong use Score-P aborts; then the child ends, and the application does not.
//!
//! The child is made by a plain system call. It gives no signal at its end, so that the application's own handling of
//! children does not see it, and no handler of a fork runs. It writes nothing: what Score-P keeps for trace and profile
//! is the child's own memory.

use super::{LaneTarget, Measurement, OwnLocation};
use crate::sys::measurement::{ATTRIBUTE_TYPE_STRING, ATTRIBUTE_TYPE_UINT64};
use crate::sys::{MODE_ABSOLUTE_POINT, REGION_COLL_OTHER};
use common::clock::CLOCK;
use common::pause::pause;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long the child may take. It takes a millisecond.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause between two looks at the child.
const LOOK: Duration = Duration::from_millis(1);

/// Least and most bytes of a page that make sense. Score-P's default is 8192.
const PAGES: std::ops::RangeInclusive<u64> = 256..=1 << 30;

/// Flaws that the child finds itself, by its exit status less 1.
const FLAWS: [&str; 5] = [
    "its sizes of memory make no sense",
    "its begin of the measurement lies in the future",
    "it has no memory to give",
    "it makes no location",
    "recording was off, or memory short, so nothing could be tried",
];

/// Tries all functions in a child process. Another thread may hold a lock when the child is made, which is then never
/// given back there; so a child that is late is followed by one more.
///
/// # Errors
/// The flaw, in words.
pub(super) fn run(measurement: &Measurement) -> Result<(), String> {
    attempt_in_child(measurement)
        .or_else(|flaw| if flaw.is_late { attempt_in_child(measurement) } else { Err(flaw) })
        .map_err(|flaw| flaw.text)
}

/// Why a trial failed.
struct Flaw {
    text: String,
    /// Whether a function did not return in time.
    is_late: bool,
}

impl From<String> for Flaw {
    fn from(text: String) -> Self {
        Self { text, is_late: false }
    }
}

fn attempt_in_child(measurement: &Measurement) -> Result<(), Flaw> {
    const NONE: libc::c_long = 0;
    // SAFETY: without flags, clone makes a child process with a copy of all memory, and nothing is shared. The child
    // has this thread alone, calls `child`, and ends there.
    let made = unsafe { libc::syscall(libc::SYS_clone, NONE, NONE, NONE, NONE, NONE) };
    match libc::pid_t::try_from(made) {
        Ok(0) => child(measurement),
        Ok(process) if process > 0 => result(process),
        _ => Err(format!("no child process can be made: {}", std::io::Error::last_os_error()).into()),
    }
}

/// Waits for the child.
fn result(process: libc::pid_t) -> Result<(), Flaw> {
    let begun = Instant::now();
    let mut is_late = false;
    loop {
        let mut status = 0;
        // a child without a signal is waited for with this flag alone
        let wait = if is_late { libc::__WALL } else { libc::__WALL | libc::WNOHANG };
        // SAFETY: the function writes one integer.
        match unsafe { libc::waitpid(process, &raw mut status, wait) } {
            0 if begun.elapsed() < PATIENCE => pause(LOOK),
            0 => {
                is_late = true;
                // SAFETY: the process is this one's own child, which nobody else waits for.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            -1 => return Err(format!("its end is not known: {}", std::io::Error::last_os_error()).into()),
            _ if is_late => {
                let text = format!("a function did not return within {} s, twice", PATIENCE.as_secs());
                return Err(Flaw { text, is_late });
            }
            _ if libc::WIFSIGNALED(status) => return Err(format!("signal {} ended it", libc::WTERMSIG(status)).into()),
            _ => {
                let flaw = usize::try_from(libc::WEXITSTATUS(status)).unwrap_or(usize::MAX).checked_sub(1);
                let text = |flaw: usize| String::from(*FLAWS.get(flaw).unwrap_or(&"it ended the process"));
                return flaw.map_or(Ok(()), |flaw| Err(text(flaw).into()));
            }
        }
    }
}

/// Tries the functions, and ends the process.
fn child(measurement: &Measurement) -> ! {
    be_quiet();
    let flaw = catch_unwind(AssertUnwindSafe(|| attempt(measurement))).unwrap_or(Some(FLAWS.len()));
    // SAFETY: the process ends at once; no handler of the application's runs.
    unsafe { libc::_exit(flaw.map_or(0, |flaw| flaw as i32 + 1)) }
}

/// Ends the process before the application's own handlers of its end, if a function of Score-P's calls `exit`.
extern "C" fn leave() {
    // SAFETY: the process ends at once.
    unsafe { libc::_exit(libc::EXIT_FAILURE + FLAWS.len() as i32) }
}

/// Keeps the child's end to itself: no output, no core file, no handler of the application's, and no life after it.
fn be_quiet() {
    // SAFETY: the functions change the child alone; the path is a string, and the limit is of the type that is read.
    unsafe {
        // the handler that comes last is called first
        libc::atexit(leave);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        for signal in [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_DFL);
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..=2 {
            libc::dup2(nothing, standard);
        }
    }
}

/// Uses each function once. Returns the number of the flaw, if one is found.
fn attempt(measurement: &Measurement) -> Option<usize> {
    let (total, each) = measurement.memory();
    let page = measurement.page();
    let free = measurement.free_memory();
    if !PAGES.contains(&page) || !page.is_power_of_two() || total < page || free > total + page {
        return Some(0);
    }
    let now = CLOCK.now();
    if measurement.begin() > now {
        return Some(1);
    }
    let has_room = measurement.can_make_locations() && measurement.room() > 0;
    if has_room && !(measurement.has_pieces(&[page]) && measurement.has_room_for_region()) {
        return Some(2);
    }
    let region = measurement.region("NCCL (trial)", REGION_COLL_OTHER);
    let counter = measurement.counter(c"nccl_trial", c"", MODE_ABSOLUTE_POINT, c"#");
    let number = measurement.attribute(c"nccl_trial_number", c"", ATTRIBUTE_TYPE_UINT64);
    let word = measurement.attribute(c"nccl_trial_word", c"", ATTRIBUTE_TYPE_STRING);
    if !has_room || !measurement.is_recording() || total < each {
        return Some(4);
    }
    let lane = measurement.lane("NCCL (trial)");
    if lane == OwnLocation(0) {
        return Some(3);
    }
    measurement.rename(lane, "NCCL (tried)");
    measurement.say_number(lane, number, 1);
    measurement.say(lane, word, measurement.string("NCCL"));
    measurement.enter(lane, now, region);
    measurement.count(lane, now, counter, 1);
    measurement.exit(lane, now, region);
    // SAFETY: the functions take nothing; the child is a copy of the thread that begins the measurement. Score-P may
    // refuse, which is no flaw.
    unsafe {
        (measurement.0.disable_recording)();
        (measurement.0.enable_recording)();
    }
    None
}
