//! The places that a watch reads processes from: directories of status files, and standard input with those of relays.

use super::relay::input::RelayInput;
use crate::statuses::{Observed, StatusLooks};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Name of standard input.
const STANDARD_INPUT: &str = "-";

/// All places of a watch.
pub(super) struct StatusSources(Vec<(String, StatusSource)>);

enum StatusSource {
    Directory(StatusLooks),
    Relays(RelayInput),
}

/// A look at all places.
#[derive(Default)]
pub(super) struct SourcesLook {
    pub(super) processes: Vec<Observed>,
    /// Whether nothing was left out.
    pub(super) is_whole: bool,
    /// Lines on what was left out.
    pub(super) lines: Vec<String>,
}

impl StatusSources {
    /// Begins with these places.
    ///
    /// # Errors
    /// In words: standard input is named twice, is a terminal, or cannot be read.
    pub(super) fn of(places: &[PathBuf]) -> Result<Self, String> {
        let is_input = |place: &&PathBuf| place.as_path() == Path::new(STANDARD_INPUT);
        if places.iter().filter(is_input).count() > 1 {
            return Err("`-` is standard input: name it once".into());
        }
        if places.iter().any(|place| is_input(&place)) && std::io::stdin().is_terminal() {
            return Err(
                "`-` is standard input, which is a terminal: pipe the lines of `watch DIR --relay` into it".into()
            );
        }
        let of_place = |place: &PathBuf| {
            let source = if is_input(&place) {
                StatusSource::Relays(RelayInput::begin().map_err(|error| format!("standard input: {error}"))?)
            } else {
                StatusSource::Directory(StatusLooks::new(place))
            };
            Ok((place.display().to_string(), source))
        };
        places.iter().map(of_place).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether a first look is of use: relays have begun, and had this time, seconds.
    pub(super) fn are_ready(&self, time: f64) -> bool {
        self.0.iter().all(|(_, source)| match source {
            StatusSource::Directory(_) => true,
            StatusSource::Relays(input) => input.is_ready(time),
        })
    }

    /// Returns whether a further look says nothing new: there are relays alone, and their lines have ended.
    pub(super) fn have_ended(&self) -> bool {
        self.0.iter().all(|(_, source)| match source {
            StatusSource::Directory(_) => false,
            StatusSource::Relays(input) => input.has_ended(),
        })
    }

    /// Returns the line on what relays have lost in all; `None` where that is nothing.
    pub(super) fn lost(&self) -> Option<String> {
        let of_source = |(_, source): &(String, StatusSource)| match source {
            StatusSource::Directory(_) => 0,
            StatusSource::Relays(input) => input.lost(),
        };
        let lost: u64 = self.0.iter().map(of_source).sum();
        (lost > 0).then(|| format!("standard input: {lost} torn or foreign lines in all"))
    }

    /// Looks at all places. `now` are seconds by a clock that does not jump.
    ///
    /// # Errors
    /// In words, with `is_once`: the only directory cannot be read.
    pub(super) fn look(&mut self, now: f64, is_once: bool) -> Result<SourcesLook, String> {
        let mut look = SourcesLook { is_whole: true, ..SourcesLook::default() };
        let several = self.0.len() > 1;
        for (place, source) in &mut self.0 {
            let read = match source {
                StatusSource::Directory(looks) => looks.look(now),
                StatusSource::Relays(input) => Ok(input.look()),
            };
            match read {
                Ok(mut reading) => {
                    look.is_whole &= reading.left_out.is_empty();
                    if several {
                        let of_place = |process: &mut Observed| process.file = format!("{place}/{}", process.file);
                        reading.processes.iter_mut().for_each(of_place);
                    }
                    look.processes.append(&mut reading.processes);
                    look.lines.extend(reading.left_out.into_iter().chain(reading.foreign));
                }
                // a job's directory may come later, and a file system may be away for a while
                Err(error) => {
                    let line = format!("{place}: {error}: name the job's NCCL_SCOREP_STATUS");
                    if is_once && !several {
                        return Err(line);
                    }
                    look.is_whole = false;
                    look.lines.push(line);
                }
            }
        }
        Ok(look)
    }
}
