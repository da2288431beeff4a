//! The file of a recording: its first line, then parts with lines, gzipped.
//!
//! The file appears with its first part and grows by further parts, so a process that is killed leaves the parts
//! written so far. If the process ends regularly, the last line says so.
//!
//! Each part is a gzip member. The first member is the first line, which is overwritten when the number of dropped
//! callbacks is known.

use common::files::{self, Earlier, FileName, Growing, NewFile};
use common::host_name;
use common::log;
use recording::{ENDING, Meta, write_member};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Once;

/// The file's name, and the file and its first line once there is one.
#[derive(Debug)]
pub(super) struct FileParts {
    name: FileName,
    /// Whether there is a directory that a file can be made in, as far as is known.
    has_place: bool,
    file: Option<(Growing, Meta<String>)>,
}

impl FileParts {
    /// Chooses the name `<host>.<pid>.jsonl.gz` in a directory. If that file exists, the new one gets another name: in
    /// containers, many processes have process id 1 and the same host name.
    ///
    /// # Errors
    /// If the name of the directory is relative to one that is gone.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        // the job may change its working directory
        let directory = std::path::absolute(directory)?;
        let place = directory.join(format!("{}.{}{ENDING}", host(), std::process::id()));
        Ok(Self { name: FileName::new(&place, Earlier::Kept), has_place: false, file: None })
    }

    /// Creates the directory if it is missing, and makes sure that a file can be created there.
    ///
    /// # Errors
    /// If none can be.
    pub(super) fn look_for_place(&mut self) -> io::Result<()> {
        if !self.has_place {
            let place = self.name.place();
            files::make(place.parent().unwrap_or(Path::new(".")))?;
            drop(NewFile::beside(place)?);
            self.has_place = true;
        }
        Ok(())
    }

    /// Returns the path at which the file is or will be.
    pub(super) fn place(&self) -> &Path {
        self.name.place()
    }

    /// Returns whether the file has another name than host and process id give.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.name.is_another()
    }

    /// Returns whether somebody has removed the file. Then the next part begins a new one, which one line says: a scratch
    /// directory is cleaned, and nobody would find the parts in the removed file.
    pub(super) fn begins_again(&mut self) -> bool {
        let is_removed = self.file.as_ref().is_some_and(|(file, _)| file.is_removed());
        if is_removed {
            static SAID: Once = Once::new();
            let place = self.name.place().display();
            SAID.call_once(|| {
                log::warn(&format!(
                    "the recording {place} was removed while the process runs: a new one begins, without the earlier callbacks"
                ));
            });
            (self.file, self.has_place) = (None, false);
        }
        is_removed
    }

    /// Adds a part and returns the result of `lines`. From that result, `dropped` computes the number of callbacks that
    /// the file then lacks.
    ///
    /// # Errors
    /// If the part cannot be written; then the file holds nothing of it.
    pub(super) fn add<T>(
        &mut self,
        meta: Meta<String>,
        is_last: bool,
        lines: impl FnOnce(&mut dyn Write) -> io::Result<T>,
        dropped: impl FnOnce(&T) -> u64,
    ) -> io::Result<T> {
        self.look_for_place()?;
        let Some((file, before)) = &mut self.file else {
            let first = |file: &mut NewFile| {
                file.write_all(&meta.member()?)?;
                let written = write_member(file, lines)?;
                let meta = Meta { dropped: dropped(&written), ..meta };
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&meta.member()?)?;
                Ok((meta, written))
            };
            if is_last {
                return Growing::whole(&mut self.name, first).map(|(_, written)| written);
            }
            let (file, (meta, written)) = Growing::begin(&mut self.name, first)?;
            self.file = Some((file, meta));
            return Ok(written);
        };
        let written = file.add(|out| write_member(out, lines))?;
        change_meta(file, before, Meta { dropped: dropped(&written), ..meta })?;
        Ok(written)
    }

    /// Overwrites the first line if there is a file and the line has changed.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub(super) fn renew_meta(&mut self, meta: Meta<String>) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |(file, before)| change_meta(file, before, meta))
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If something could not be written after all.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.file.take().map_or(Ok(()), |(file, _)| file.close())
    }
}

fn change_meta(file: &mut Growing, before: &mut Meta<String>, meta: Meta<String>) -> io::Result<()> {
    if meta != *before {
        file.change_head(&meta.member()?)?;
        *before = meta;
    }
    Ok(())
}

/// Returns this host's name, as part of a file name.
fn host() -> String {
    String::from_utf8_lossy(&host_name::of_machine()).replace('/', "-")
}

/// Says that there is no recording, and why.
pub(super) fn complain(directory: &Path, error: &io::Error) {
    log::warn(&format!("no recording in {}: {error}", directory.display()));
}
