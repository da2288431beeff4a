//! The file of a recording: a head, then parts with lines, gzipped.
//!
//! The file appears with its first part and grows by further parts, so a process that is killed leaves the parts
//! written so far. If the process ends regularly, the last line says so.
//!
//! Each part is a gzip member. The first member is the line of the head. It is not compressed, so that it can be
//! overwritten when the number of dropped callbacks is known.

use common::files::{self, Earlier, FileName, Growing, NewFile};
use common::host_name;
use common::log;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Once;

/// Length of the head's line in bytes, padded with blanks: more than the description of a process needs.
const HEAD: usize = 8192;
/// Bytes of the head's line for the process; its other fields need fewer than the remaining bytes.
pub(super) const PROCESS: usize = HEAD - 512;
/// Bytes of text that are compressed at once.
const BLOCK: usize = 1 << 16;

/// Fields of the head's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) mask: u64,
    pub(super) pid: u32,
    pub(super) real0: u64,
    pub(super) mono0: u64,
    /// Callbacks that the file lacks, up to its last part.
    pub(super) dropped: u64,
    /// When the memory became full, nanoseconds since `mono0`; 0 if it never did.
    pub(super) full: u64,
    /// The recorded process, as JSON of at most [`PROCESS`] bytes.
    pub(super) process: String,
}

impl Head {
    /// Returns the line as a gzip member, whose length does not depend on the content.
    fn member(&self) -> io::Result<Vec<u8>> {
        let Self { version, mask, pid, real0, mono0, dropped, full, process } = self;
        let full = if *full > 0 { format!(r#","full":{full}"#) } else { String::new() };
        let line = format!(
            r#"{{"cb":"meta","format":1,"api":{version},"mask":{mask},"pid":{pid},"real0":{real0},"mono0":{mono0},"dropped":{dropped}{full},"ends":1,"process":{process}}}"#
        );
        if line.len() > HEAD {
            return Err(io::Error::other("the head does not fit"));
        }
        let mut member = GzEncoder::new(Vec::new(), Compression::none());
        writeln!(member, "{line:HEAD$}")?;
        member.finish()
    }
}

/// The file's name, and the file and its head once there is one.
#[derive(Debug)]
pub(super) struct FileParts {
    name: FileName,
    /// Whether there is a directory that a file can be made in, as far as is known.
    has_place: bool,
    file: Option<(Growing, Head)>,
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
        let place = directory.join(format!("{}.{}.jsonl.gz", host(), std::process::id()));
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
        head: Head,
        is_last: bool,
        lines: impl FnOnce(&mut dyn Write) -> io::Result<T>,
        dropped: impl FnOnce(&T) -> u64,
    ) -> io::Result<T> {
        self.look_for_place()?;
        let Some((file, before)) = &mut self.file else {
            let first = |file: &mut NewFile| {
                file.write_all(&head.member()?)?;
                let written = write_member(file, lines)?;
                let head = Head { dropped: dropped(&written), ..head };
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&head.member()?)?;
                Ok((head, written))
            };
            if is_last {
                return Growing::whole(&mut self.name, first).map(|(_, written)| written);
            }
            let (file, (head, written)) = Growing::begin(&mut self.name, first)?;
            self.file = Some((file, head));
            return Ok(written);
        };
        let written = file.add(|out| write_member(out, lines))?;
        change_head(file, before, Head { dropped: dropped(&written), ..head })?;
        Ok(written)
    }

    /// Overwrites the head if there is a file and the head has changed.
    ///
    /// # Errors
    /// If the head cannot be written.
    pub(super) fn renew_head(&mut self, head: Head) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |(file, before)| change_head(file, before, head))
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If something could not be written after all.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.file.take().map_or(Ok(()), |(file, _)| file.close())
    }
}

fn change_head(file: &mut Growing, before: &mut Head, head: Head) -> io::Result<()> {
    if head != *before {
        file.change_head(&head.member()?)?;
        *before = head;
    }
    Ok(())
}

/// Writes lines as a gzip member. Speed matters more than size, since the job waits for the library at its end. Text is
/// compressed in whole blocks, since each write costs.
fn write_member<T>(out: &mut dyn Write, lines: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut member = BufWriter::with_capacity(BLOCK, GzEncoder::new(out, Compression::fast()));
    let written = lines(&mut member)?;
    member.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    Ok(written)
}

/// Returns this host's name, as part of a file name.
fn host() -> String {
    String::from_utf8_lossy(&host_name::of_machine()).replace('/', "-")
}

/// Says that there is no recording, and why.
pub(super) fn complain(directory: &Path, error: &io::Error) {
    log::warn(&format!("no recording in {}: {error}", directory.display()));
}
