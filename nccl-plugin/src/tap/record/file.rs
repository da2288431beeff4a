//! The file of a recording: a head, and parts of lines, gzipped. It appears with its first part and grows from there,
//! so that a process that is killed leaves what it has written; one that comes to its end says so in the last line.
//!
//! Each part is a gzip member. The first member is the head's line, not compressed, so that it can be written again
//! once it is known what was dropped.

use common::files::{self, Earlier, Growing, Name, NewFile};
use common::host_name;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes of the head's line, filled up with blanks: what is said of the process is short.
const HEAD: usize = 8192;
/// Bytes of it for the process: the names and numbers of all else take less than the rest.
pub(super) const PROCESS: usize = HEAD - 512;
/// Bytes of text that are compressed at a time.
const BLOCK: usize = 1 << 16;

/// What the head's line tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) mask: u64,
    pub(super) pid: u32,
    pub(super) real0: u64,
    pub(super) mono0: u64,
    /// Callbacks that are not in the file, up to its last part.
    pub(super) dropped: u64,
    /// When the memory was full, nanoseconds since `mono0`; 0 where it never was.
    pub(super) full: u64,
    /// The process that is recorded, as JSON of at most `PROCESS` bytes.
    pub(super) process: String,
}

impl Head {
    /// The line as a gzip member, of the same length whatever it says.
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

/// Where the file goes, and the file once there is one, with its head.
#[derive(Debug)]
pub(super) struct Parts {
    name: Name,
    file: Option<(Growing, Head)>,
}

impl Parts {
    /// `<host>.<pid>.jsonl.gz` in a directory, which is made if need be. Where a file of that name is there, the new
    /// one gets another name: in containers, many processes are number 1 of one host name.
    ///
    /// # Errors
    /// When no file can be made there: better known now than later.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        files::make(directory)?;
        // the job may go elsewhere
        let directory = directory.canonicalize()?;
        let place = directory.join(format!("{}.{}.jsonl.gz", host(), std::process::id()));
        drop(NewFile::beside(&place)?);
        Ok(Self { name: Name::new(&place, Earlier::Kept), file: None })
    }

    /// Where the file is or will be.
    pub(super) fn place(&self) -> &Path {
        self.name.place()
    }

    /// Whether the file has another name than that of host and process.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.name.is_another()
    }

    /// Adds a part, and gives what `lines` does; `dropped` makes of that how many callbacks are not in the file by
    /// then.
    ///
    /// # Errors
    /// When there is no room or no right to write; then none of the part is there.
    pub(super) fn add<T>(
        &mut self,
        head: Head,
        is_last: bool,
        lines: impl FnOnce(&mut dyn Write) -> io::Result<T>,
        dropped: impl FnOnce(&T) -> u64,
    ) -> io::Result<T> {
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

    /// Has the head say what is known by now, where there is a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn renew_head(&mut self, head: Head) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |(file, before)| change_head(file, before, head))
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When something was not written after all.
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

/// Job and library wait for it at the end, so it is fast rather than small; whole blocks of text, since each write
/// costs.
fn write_member<T>(out: &mut dyn Write, lines: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut member = BufWriter::with_capacity(BLOCK, GzEncoder::new(out, Compression::fast()));
    let written = lines(&mut member)?;
    member.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    Ok(written)
}

/// Name of this host, as part of a file's name.
fn host() -> String {
    String::from_utf8_lossy(&host_name::of_machine()).replace('/', "-")
}
