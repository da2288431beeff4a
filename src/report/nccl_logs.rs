//! Logs of NCCL: files, plain or compressed, and directories of them.

use common::files as inputs;
use flate2::read::MultiGzDecoder;
use report::job::Unreadable;
use report::nccl_log::{LogReader, NcclLog};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;
/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads all logs as one. A directory's files are read, but not the directories in it. Returns the files that cannot be
/// read to their ends, too; what stands before is in the log.
pub(super) fn read(paths: &[PathBuf]) -> (NcclLog, Vec<Unreadable>) {
    let (mut reader, mut left_out) = (LogReader::default(), Vec::new());
    for path in paths {
        let files = if path.is_dir() { files(path) } else { Ok(vec![path.clone()]) };
        match files {
            Err(error) => left_out.push(Unreadable::whole(path, error)),
            Ok(files) => {
                let bad = files.iter().filter_map(|file| Some(Unreadable::whole(file, one(&mut reader, file).err()?)));
                left_out.extend(bad);
            }
        }
    }
    (reader.finish(), left_out)
}

/// Returns the files of a directory, by name.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: Vec<_> = fs::read_dir(directory)?.collect::<io::Result<_>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn one(reader: &mut LogReader, file: &Path) -> io::Result<()> {
    let mut opened = BufReader::with_capacity(BUFFER, inputs::input(file)?);
    if opened.fill_buf()?.starts_with(&GZIP) {
        return reader.read(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(opened)));
    }
    reader.read(opened)
}
