//! Whether the process is out of memory.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set after the first failed allocation of this library.
static OUT_OF_MEMORY: AtomicBool = AtomicBool::new(false);

/// Returns whether an allocation of this library has failed. From then on the library's threads answer nothing and no
/// file is written.
#[inline]
pub fn is_out_of_memory() -> bool {
    OUT_OF_MEMORY.load(Ordering::Relaxed)
}

/// Notes that an allocation has failed.
pub(crate) fn note() {
    OUT_OF_MEMORY.store(true, Ordering::Relaxed);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::note;
    use std::process::Command;

    /// Runs `body` in a process of its own that is out of memory, because that state cannot be undone. `test` is the
    /// name of the calling test. Returns the standard error of that process, which ends within seconds.
    pub(crate) fn without_memory(test: &str, body: impl FnOnce()) -> String {
        const IS_THERE: &str = "TEST_WITHOUT_MEMORY";
        if std::env::var_os(IS_THERE).is_some() {
            // SAFETY: alarm takes a number; its signal ends only this process, which belongs to the test.
            unsafe { libc::alarm(20) };
            note();
            body();
            return String::new();
        }
        let mut there = Command::new(std::env::current_exe().unwrap());
        let ended = there.args(["--exact", test, "--test-threads", "1"]).env(IS_THERE, "1").output().unwrap();
        let [printed, said] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(ended.status.success() && printed.contains("1 passed"), "{}: {printed}{said}", ended.status);
        said
    }
}
