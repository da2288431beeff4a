//! When this process began, on the clock of a file system.

use super::Directory;
use crate::base::birth;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// Error of the begin of a process and of the time of a file: the system counts both in ticks. Within that error, a
/// file counts as not earlier, and stays.
const COARSE: Duration = Duration::from_millis(20);
/// Looks at the begin of this process, at most.
const LOOKS: usize = 4;

/// Returns whether a file was there before this process began, by the clock of the file system. `own` is the file with
/// the name `file` that was just made.
///
/// That file's time and the age of the process show a begin that is too early by as long as the process was held up
/// between the two. So the file's time is set anew, a few times, before the answer is no.
pub(super) fn is_earlier(there: &Metadata, directory: &Directory, file: &OsStr, own: &mut Option<Metadata>) -> bool {
    for _ in 0..LOOKS {
        let times = || Some((there.modified().ok()?, own.as_ref()?.modified().ok()?));
        let Some((there, now)) = times() else { return false };
        if is_before(there, now, age_of_process()) {
            return true;
        }
        if directory.touch(file).is_err() {
            return false;
        }
        *own = directory.look(file).ok();
    }
    false
}

fn is_before(there: SystemTime, now: SystemTime, age: Duration) -> bool {
    now.checked_sub(age).is_some_and(|begin| there + COARSE < begin)
}

/// Returns the age of the process as the system gives it; where the system does not, the time since the first call.
pub(super) fn age_of_process() -> Duration {
    static FIRST: OnceLock<(Duration, Instant)> = OnceLock::new();
    let (age, asked) = FIRST.get_or_init(|| (told_age().unwrap_or_default(), Instant::now()));
    *age + asked.elapsed()
}

fn told_age() -> Option<Duration> {
    let ticks = birth::own()?;
    // SAFETY: sysconf accepts any name.
    let each = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|each| *each > 0)?;
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the result has a place of its own.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut now) } != 0 {
        return None;
    }
    let now = Duration::new(u64::try_from(now.tv_sec).ok()?, u32::try_from(now.tv_nsec).ok()?);
    now.checked_sub(Duration::from_nanos(ticks.checked_mul(1_000_000_000 / each)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_as_old_as_the_system_says() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(is_before(at(89), now, Duration::from_secs(10)) && !is_before(at(90), now, Duration::from_secs(10)));
        assert!(told_age().is_some_and(|age| age < Duration::from_secs(86_400)));
    }
}
