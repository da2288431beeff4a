//! Requests to this process: a file in the directory of its status file, which is looked at each time that the status is
//! written.

use crate::base::files::{self, Earlier, FileName};
use crate::base::{birth, log, notes};
use crate::clock::monotonic;
use crate::config::{Preset, Settings};
use crate::origin;
use crate::record::context::switching;
use crate::record::recorder;
use crate::stacks::{self, Python};
use crate::status::request::{self, FILE, MOST_AGE, RequestAnswer, StatusRequest, To};
use crate::status::stacks::ENDING;
use crate::summary_file;
use std::collections::VecDeque;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Most requests whose numbers are kept. Looks are a second apart: those that are forgotten are an hour old, and refused
/// for their age.
const MOST_KEPT: usize = 4096;

/// What identifies a state of the file: device, inode, time of change and length.
type RequestIdentity = [u64; 5];

/// The requests to this process.
#[derive(Debug)]
pub(super) struct Requests {
    place: PathBuf,
    /// The file of stacks.
    stacks: FileName,
    /// The interpreter of this process, if it has one.
    python: Option<Python>,
    /// The file as it was last looked at; `None` before the first look.
    seen: Option<Option<RequestIdentity>>,
    /// Numbers of the requests that were done or refused.
    done: VecDeque<u64>,
    /// Time of this process' first file in the directory, by the clock of the file system.
    begun: Option<SystemTime>,
    /// End of the request in force, nanoseconds of CLOCK_MONOTONIC.
    until: Option<u64>,
    told: bool,
}

impl Requests {
    /// Listens to requests in `directory`.
    pub(super) fn new(directory: &Path) -> Self {
        let place = directory.join(FILE);
        let stacks = files::expand(Path::new(&format!("scorep-nccl.%h.%p{ENDING}")));
        let stacks = FileName::new(&directory.join(stacks), Earlier::Replaced);
        // in the first init: it takes the loader's lock, for which no thread of the library waits later
        let python = Python::look_up();
        Self { place, stacks, python, seen: None, done: VecDeque::new(), begun: None, until: None, told: false }
    }

    /// Goes back to the process' own setting once the time of the request in force is over.
    pub(super) fn expire(&mut self) {
        if self.until.is_some_and(|until| monotonic() >= until) {
            self.until = None;
            want(None);
        }
    }

    /// Does what a new request asks for, and returns the answer. `now` are nanoseconds since the Epoch, and `own` is this
    /// process' file in the directory, just written: a request from before its first one is not for this process.
    pub(super) fn look(&mut self, now: u64, own: &Path, settings: &Settings) -> Option<RequestAnswer> {
        let written = own.symlink_metadata().and_then(|own| own.modified()).unwrap_or_else(|_| SystemTime::now());
        let begun = *self.begun.get_or_insert(written);
        let found = self.place.symlink_metadata().ok();
        let before = self.seen.replace(found.as_ref().map(identity));
        let found = found?;
        if before == Some(Some(identity(&found))) || found.modified().is_ok_and(|made| made < begun) {
            return None;
        }
        // another file may have the name by now
        let (request, found) = match request::read(&self.place) {
            Ok(read) => read,
            Err(refused) => {
                if !std::mem::replace(&mut self.told, true) {
                    log::warn(&format!("the request {} is refused: {refused}", self.place.display()));
                }
                return Some(RequestAnswer { taken: now, refused: Some(refused), ..RequestAnswer::default() });
            }
        };
        let made = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if made < begun || !is_for_this_process(&request) || !self.is_new(&request) {
            return None;
        }
        // both times are of the clock of the file system, and nobody but the file's owner can make it younger
        let age = written.duration_since(made).unwrap_or_default().as_secs();
        if age > MOST_AGE {
            let refused = format!("it is {age} s old, and holds for {MOST_AGE} s: ask again");
            return Some(RequestAnswer {
                ticket: request.ticket,
                taken: now,
                refused: Some(refused),
                ..RequestAnswer::default()
            });
        }
        Some(self.fulfil(request, now, settings))
    }

    /// Returns whether a request has come for the first time, and keeps its number.
    fn is_new(&mut self, request: &StatusRequest) -> bool {
        let Some(number) = request.number().filter(|number| !self.done.contains(number)) else { return false };
        self.done.truncate(MOST_KEPT - 1);
        self.done.push_front(number);
        true
    }

    /// Returns the time until the request in force ends, if that is known.
    pub(super) fn left(&self) -> Option<Duration> {
        self.until.map(|until| Duration::from_nanos(until.saturating_sub(monotonic())))
    }

    fn fulfil(&mut self, request: StatusRequest, now: u64, settings: &Settings) -> RequestAnswer {
        let StatusRequest { ticket, preset, seconds, back, summary, stacks, .. } = request;
        let mut answer = RequestAnswer { ticket, taken: now, ..RequestAnswer::default() };
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
                Err(refused) => refuse(&mut answer, &refused),
            }
        }
        if stacks {
            match self.write_stacks(&answer.ticket) {
                Ok(name) => answer.stacks = Some(name),
                Err(refused) => refuse(&mut answer, &refused),
            }
        }
        answer
    }

    /// Writes the file of stacks, and returns its name.
    fn write_stacks(&mut self, ticket: &str) -> Result<String, String> {
        let text = stacks::text(self.python.as_ref(), ticket);
        let written = files::write_as(&mut self.stacks, text.as_bytes());
        let place = self.stacks.place();
        written.map_err(|error| format!("the stacks could not be written to {}: {error}", place.display()))?;
        Ok(place.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }
}

/// Adds a reason to those for which a request was not done.
fn refuse(answer: &mut RequestAnswer, reason: &str) {
    answer.refused = Some(answer.refused.take().map_or(reason.to_owned(), |one| format!("{one}; {reason}")));
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
    let preset = name.parse().map_err(|_| format!("there is no preset {name:?}"))?;
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

/// Returns whether a request is for this process.
fn is_for_this_process(request: &StatusRequest) -> bool {
    match &request.to {
        Some(To::All) => true,
        Some(To::Process { host, pid, born }) => {
            *pid == std::process::id() && *born == birth::own() && *host == origin::own().host
        }
        None => false,
    }
}

fn identity(file: &Metadata) -> RequestIdentity {
    [file.dev(), file.ino(), file.mtime().cast_unsigned(), file.mtime_nsec().cast_unsigned(), file.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_request_is_new_once_whatever_comes_in_between() {
        let mut requests = Requests::new(Path::new("/nowhere"));
        let mut is_new = |number: usize| {
            requests.is_new(&StatusRequest { ticket: format!("{number:016x}"), ..StatusRequest::default() })
        };
        assert!(is_new(7) && is_new(8) && !is_new(7) && !is_new(8));
        assert!(
            (100..100 + MOST_KEPT - 2).all(&mut is_new) && !is_new(7) && is_new(1) && requests.done.len() == MOST_KEPT
        );
    }

    #[test]
    fn a_request_holds_for_a_minute_by_the_clock_of_the_file_system() {
        let directory =
            std::env::temp_dir().join(format!("scorep-nccl-requests-{:016x}", crate::base::files::random()));
        std::fs::create_dir(&directory).unwrap();
        let own = directory.join("own");
        let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let put = |place: &Path, text: &str, seconds: u64| {
            std::fs::write(place, text).unwrap();
            let file = std::fs::File::options().write(true).open(place).unwrap();
            file.set_modified(begin + Duration::from_secs(seconds)).unwrap();
        };
        let mut requests = Requests::new(&directory);
        let mut look = |ticket: &str, made: u64, written: u64| {
            let schema = request::SCHEMA;
            let text = format!("{{\"schema\": \"{schema}\", \"ticket\": \"{ticket}\", \"to\": \"all\"}}");
            put(&own, "", written);
            put(&directory.join(FILE), &text, made);
            requests.look(7, &own, &Settings::default()).map(|answer| (answer.ticket, answer.refused))
        };
        assert_eq!(look("1", 99, 100), None, "it is from before the process");
        let refused = look("2", 120, 200).unwrap();
        assert_eq!(refused, ("2".into(), Some("it is 80 s old, and holds for 60 s: ask again".into())));
        assert_eq!(look("3", 150, 200), Some(("3".into(), None)));
        assert_eq!(look("3", 160, 200), None, "it was done");
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_request_names_the_process_that_it_is_for() {
        let to = |to| is_for_this_process(&StatusRequest { to, ..StatusRequest::default() });
        let process = |pid, born, host| to(Some(To::Process { host, pid, born }));
        let (pid, born, host) = (std::process::id(), birth::own(), origin::own().host);
        assert!(to(Some(To::All)) && process(pid, born, host.clone()) && !to(None));
        assert!(!process(pid + 1, born, host.clone()) && !process(pid, Some(1), host) && !process(pid, born, None));
    }
}
