//! Requests to this process: a file in the directory of its status file, which is looked at each time that the status is
//! written.

use crate::base::files;
use crate::base::{log, notes};
use crate::clock::monotonic;
use crate::config::{Preset, Settings};
use crate::record::context::switching;
use crate::record::recorder;
use crate::status::request::{Answer, FILE, MOST_BYTES, Request, SCHEMA};
use crate::summary_file;
use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Group or others may write.
const OTHERS_WRITE: u32 = 0o022;

/// What identifies a state of the file: device, inode, time of change and length.
type Identity = [u64; 5];

/// The requests to this process.
#[derive(Debug)]
pub(super) struct Requests {
    place: PathBuf,
    /// The file as it was last looked at; `None` before the first look.
    seen: Option<Option<Identity>>,
    /// Number of the last request.
    ticket: String,
    /// End of the request in force, nanoseconds of CLOCK_MONOTONIC.
    until: Option<u64>,
    told: bool,
}

impl Requests {
    /// Listens to requests in `directory`.
    pub(super) fn new(directory: &Path) -> Self {
        Self { place: directory.join(FILE), seen: None, ticket: String::new(), until: None, told: false }
    }

    /// Goes back to the process' own setting once the time of the request in force is over.
    pub(super) fn expire(&mut self) {
        if self.until.is_some_and(|until| monotonic() >= until) {
            self.until = None;
            want(None);
        }
    }

    /// Does what a new request asks for, and returns the answer. `now` are nanoseconds since the Epoch, and `own` is
    /// this process' first file in the directory: a request from before it is not for this process.
    pub(super) fn look(&mut self, now: u64, own: &Path, settings: &Settings) -> Option<Answer> {
        let found = self.place.symlink_metadata().ok();
        let before = self.seen.replace(found.as_ref().map(identity));
        let found = found?;
        match before {
            Some(before) if before == Some(identity(&found)) => return None,
            None if own.symlink_metadata().is_ok_and(|own| is_before(&found, &own)) => return None,
            _ => {}
        }
        let request = match read(&self.place) {
            Ok(request) if request.ticket == self.ticket => return None,
            Ok(request) => request,
            Err(refused) => {
                if !std::mem::replace(&mut self.told, true) {
                    log::warn(&format!("the request {} is refused: {refused}", self.place.display()));
                }
                return Some(Answer { taken: now, refused: Some(refused), ..Answer::default() });
            }
        };
        self.ticket.clone_from(&request.ticket);
        Some(self.fulfil(request, now, settings))
    }

    /// Returns the time until the request in force ends, if that is known.
    pub(super) fn left(&self) -> Option<Duration> {
        self.until.map(|until| Duration::from_nanos(until.saturating_sub(monotonic())))
    }

    fn fulfil(&mut self, request: Request, now: u64, settings: &Settings) -> Answer {
        let Request { ticket, preset, seconds, back, summary, .. } = request;
        let mut answer = Answer { ticket, taken: now, ..Answer::default() };
        if back {
            self.until = None;
            want(None);
        }
        if let Some(name) = preset {
            match preset_of(&name, settings) {
                Ok((preset, left_out)) => {
                    let lasts = seconds.filter(|seconds| *seconds >= 0.0);
                    let lasts = lasts.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    let lasts = lasts.map(|lasts| u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX));
                    self.until = lasts.map(|lasts| monotonic().saturating_add(lasts));
                    answer.until = lasts.map(|lasts| now.saturating_add(lasts));
                    answer.left_out = left_out;
                    want(Some(preset));
                }
                Err(refused) => answer.refused = Some(refused),
            }
        }
        if summary {
            match summary_file::write_now() {
                Ok(path) => answer.summary = Some(path.display().to_string()),
                Err(refused) => {
                    answer.refused = Some(answer.refused.map_or(refused.clone(), |one| format!("{one}; {refused}")))
                }
            }
        }
        answer
    }
}

/// Wants a preset, or the types of the settings. They come into force with the next call of NCCL.
fn want(preset: Option<Preset>) {
    switching::want(preset);
    call();
    if preset.is_some() {
        notes::add(
            "requests changed the event types that NCCL is asked for while the job ran: GPU times and transfers are of parts \
             of the run"
                .into(),
        );
    }
}

/// Has NCCL's next call look at the types that are wanted, as long as one has to.
pub(super) fn call() {
    if let Some(recorder) = recorder::begun().filter(|_| switching::is_due()) {
        recorder.call_for_attention();
    }
}

/// Returns whether event types are wanted that are not in force yet.
pub(super) fn is_waiting() -> bool {
    switching::is_due()
}

/// Returns the preset of that name, and the part of it that NCCL cannot be asked for while the process runs.
fn preset_of(name: &str, settings: &Settings) -> Result<(Preset, Option<String>), String> {
    let preset = Preset::named(name).ok_or_else(|| format!("there is no preset {name:?}"))?;
    if !settings.may_switch() {
        return Err("the process makes a recording (NCCL_SCOREP_RECORD), which has the event types of its begin".into());
    }
    let mut masks = switching::masks().peekable();
    if masks.peek().is_none() {
        return Err(
            "the event types of this process' NCCL cannot be changed: it has not begun, or it is older than 2.27"
                .into(),
        );
    }
    let lacks_events = preset != Preset::Api && settings.gpu_time.has_events() && masks.any(|mask| mask.lacks_launches);
    let left_out = lacks_events.then(|| {
        "launches, which CUDA events would time: the process' own settings do not ask for them, so no events were prepared"
            .to_owned()
    });
    Ok((preset, left_out))
}

/// Reads the file of a request, if it is the user's or root's, and nobody else's.
fn read(place: &Path) -> Result<Request, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(place).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err("it is no regular file".into());
    }
    if found.uid() != 0 && !files::is_own_user(found.uid()) {
        return Err("it belongs to another user".into());
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err("other users may write to it".into());
    }
    let mut text = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    let request: Request = serde_json::from_slice(&text).map_err(|error| format!("it is no request: {error}"))?;
    if request.schema != SCHEMA {
        return Err(format!("it is no request of this version ({SCHEMA})"));
    }
    Ok(request)
}

fn identity(file: &Metadata) -> Identity {
    [file.dev(), file.ino(), file.mtime().cast_unsigned(), file.mtime_nsec().cast_unsigned(), file.len()]
}

/// Returns whether a file is older than another one by the clock of their file system.
fn is_before(file: &Metadata, other: &Metadata) -> bool {
    (file.mtime(), file.mtime_nsec()) < (other.mtime(), other.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_whole_request_that_nobody_else_can_have_written_is_read() {
        use std::os::unix::fs::PermissionsExt;
        let directory = std::env::temp_dir().join(format!("scorep-nccl-ask-{:016x}", files::random()));
        fs::create_dir(&directory).unwrap();
        let place = directory.join(FILE);
        let put = |text: &str, mode: u32| {
            let _ = fs::remove_file(&place);
            fs::write(&place, text).unwrap();
            fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
            read(&place).map(|request| request.ticket)
        };
        let whole = format!("{{\"schema\": \"{SCHEMA}\", \"ticket\": \"7\", \"later\": 1}}");
        assert_eq!(put(&whole, 0o644), Ok("7".into()));
        for (text, mode, wrong) in [
            (whole.as_str(), 0o664, "other users"),
            (&whole, 0o646, "other users"),
            ("{", 0o600, "no request"),
            ("{\"schema\": \"scorep-nccl request 2\"}", 0o600, "this version"),
            (&" ".repeat(MOST_BYTES as usize + 1), 0o600, "longer"),
        ] {
            assert!(put(text, mode).unwrap_err().contains(wrong), "{wrong}");
        }
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
        assert!(read(&place).unwrap_err().contains("cannot be read"));
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(read(&place).unwrap_err().contains("no regular file"));
        fs::remove_dir_all(directory).unwrap();
    }
}
