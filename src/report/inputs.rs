//! The inputs of a report, told apart by their content.
//!
//! A directory is an experiment of Score-P, a dataset of tables, or a place of files. Of an experiment, the trace is
//! taken, whose operations say more, or without a trace the summaries in it. Of a place of files, the recordings and
//! summaries are taken, and what is in directories below is not.

use common::files;
use flate2::bufread::MultiGzDecoder;
use input::natural::natural;
use input::otf2::{ANCHOR, SUMMARY};
use report::job::Unreadable;
use report::table;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Number of a file's first bytes that its kind is told by.
const HEAD: u64 = 1 << 14;

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// A recording of a process' callbacks.
    Recording,
    /// A dataset of operations' tables, or the table of one process.
    Table,
    /// An OTF2 archive: its anchor file.
    Archive,
    /// A summary of a process or a job.
    Summary,
}

impl InputKind {
    /// Returns its name in a report.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Table => "table",
            Self::Archive => "archive",
            Self::Summary => "summary",
        }
    }
}

/// An input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportInput {
    /// The file, or the directory of a dataset.
    pub(crate) path: PathBuf,
    /// What it is.
    pub(crate) kind: InputKind,
}

/// The inputs of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// The inputs, in the order of the command line; those of a directory in the order of their names, with numbers
    /// compared as numbers.
    pub(crate) found: Vec<ReportInput>,
    /// What is no input, with its cause.
    pub(crate) left_out: Vec<Unreadable>,
}

impl Inputs {
    /// Looks at the files and directories that the command line names.
    pub(crate) fn of(paths: &[PathBuf]) -> Self {
        let mut inputs = Self::default();
        for path in paths {
            if path.is_dir() {
                match of_directory(path) {
                    Ok(found) => inputs.found.extend(found),
                    Err(error) => inputs.left_out.push(error),
                }
            } else {
                match kind_of(path) {
                    Ok(Some(kind)) => inputs.found.push(ReportInput { path: path.clone(), kind }),
                    Ok(None) => inputs.left_out.push(unknown(path)),
                    Err(error) => inputs.left_out.push(Unreadable::whole(path, error)),
                }
            }
        }
        inputs
    }

    /// Returns the files that are read, also those that are read in vain.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.left_out.iter().map(|it| PathBuf::from(&it.file)).collect();
        for ReportInput { path, kind } in &self.found {
            match kind {
                InputKind::Table if path.is_dir() => {
                    let within = entries(path).unwrap_or_default().into_iter().map(|entry| entry.join(table::FILE));
                    files.extend(within.chain([path.join(table::FILE)]).filter(|table| table.is_file()));
                }
                InputKind::Archive => {
                    files.extend(entries(&path.with_extension("")).unwrap_or_default());
                    files.extend([path.with_file_name(SUMMARY), path.clone()]);
                }
                InputKind::Recording | InputKind::Summary | InputKind::Table => files.push(path.clone()),
            }
        }
        files
    }

    /// Returns the inputs of a kind.
    pub(crate) fn of_kind(&self, kind: InputKind) -> Vec<PathBuf> {
        self.found.iter().filter(|found| found.kind == kind).map(|found| found.path.clone()).collect()
    }
}

fn of_directory(directory: &Path) -> Result<Vec<ReportInput>, Unreadable> {
    let mut found = Vec::new();
    let anchor = directory.join(ANCHOR);
    if anchor.is_file() {
        found.push(ReportInput { path: anchor, kind: InputKind::Archive });
    } else {
        found.extend(of_experiment(directory));
    }
    let wrong = |error: io::Error| Unreadable::whole(directory, error);
    let mut entries = entries(directory).map_err(wrong)?;
    let is_table = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == table::FILE || (name.starts_with("process=") && path.join(table::FILE).is_file())
    };
    if entries.iter().any(is_table) {
        found.push(ReportInput { path: directory.into(), kind: InputKind::Table });
    }
    entries.retain(|path| has_ending(path) && path.is_file());
    entries.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    for path in entries {
        match kind_of(&path) {
            // other files may lie beside the inputs
            Ok(None) if !is_recording_by_name(&path) => {}
            // the reader of recordings says what is wrong with it
            Ok(None) | Err(_) => found.push(ReportInput { path, kind: InputKind::Recording }),
            Ok(Some(kind)) => found.push(ReportInput { path, kind }),
        }
    }
    if found.is_empty() {
        let cause = "there is no recording (*.jsonl.gz), table (process=*/operations.parquet), archive (traces.otf2) \
                     or summary (*.json) in this directory";
        return Err(Unreadable::whole(directory, cause));
    }
    Ok(found)
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    directory.read_dir()?.map(|entry| Ok(entry?.path())).collect()
}

/// Returns the summaries in an experiment of Score-P: the job's, or without MPI that of the process, or those of the
/// processes that could not be gathered.
fn of_experiment(directory: &Path) -> Vec<ReportInput> {
    let place = directory.join(SUMMARY);
    let mut paths = place.parent().and_then(|place| entries(place).ok()).unwrap_or_default();
    paths.retain(|path| has_ending(path) && matches!(kind_of(path), Ok(Some(InputKind::Summary))));
    paths.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    paths.into_iter().map(|path| ReportInput { path, kind: InputKind::Summary }).collect()
}

/// Returns whether the name is that of an input, so that not every file of a directory is opened.
fn has_ending(path: &Path) -> bool {
    is_recording_by_name(path) || path.extension().is_some_and(|ending| ending == "json")
}

fn is_recording_by_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
}

/// Returns the kind of a file by its first bytes; `None` for a file of another kind.
fn kind_of(path: &Path) -> io::Result<Option<InputKind>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no file and no directory, and a report reads its inputs more than once"));
    }
    let mut file = BufReader::new(files::input(path)?);
    let is_compressed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let head = if is_compressed { head(MultiGzDecoder::new(file)) } else { head(file) };
    Ok(kind(&head))
}

/// Reads the first bytes, as far as they can be read: what is damaged behind them is found later.
fn head(from: impl Read) -> Vec<u8> {
    let mut head = Vec::new();
    let _ = from.take(HEAD).read_to_end(&mut head);
    head
}

fn kind(head: &[u8]) -> Option<InputKind> {
    if head.starts_with(b"PAR1") {
        return Some(InputKind::Table);
    }
    // an anchor file of OTF2: a chunk's mark and the byte order's, and the name
    if head.get(2..).is_some_and(|rest| rest.starts_with(b"OTF2")) {
        return Some(InputKind::Archive);
    }
    let text: String = String::from_utf8_lossy(head).split_whitespace().collect();
    let first = String::from_utf8_lossy(head).lines().next().unwrap_or_default().split_whitespace().collect::<String>();
    if first.starts_with('{') && first.contains(r#""cb":"meta""#) {
        return Some(InputKind::Recording);
    }
    text.contains(&format!(r#""schema":"{}""#, common::summary::SCHEMA)).then_some(InputKind::Summary)
}

/// Says that a file is no input, and how a trace of PyTorch's profiler is given.
fn unknown(path: &Path) -> Unreadable {
    let head = files::input(path).map(head).unwrap_or_default();
    let cause = if String::from_utf8_lossy(&head).contains("traceEvents") {
        "it is a trace of PyTorch's profiler: give it behind --kernels"
    } else if head.is_empty() {
        "it is empty"
    } else {
        "it is no recording, table, archive or summary by its first bytes"
    };
    Unreadable::whole(path, cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::fs;
    use std::io::Write;

    const META: &str = "{\"cb\":\"meta\",\"format\":1}\n";
    const TEXT: &str = "{\n  \"schema\": \"scorep-nccl-summary-1\",\n";

    fn compressed(text: &str) -> Vec<u8> {
        let mut file = GzEncoder::new(Vec::new(), Compression::fast());
        file.write_all(text.as_bytes()).unwrap();
        file.finish().unwrap()
    }

    #[test]
    fn files_are_told_apart_by_their_content() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = directory.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let paths = [
            file("a", META.as_bytes()),
            file("b", &compressed(META)),
            file("c", TEXT.as_bytes()),
            file("d", b"PAR1..."),
            file("e", b"\x03BOTF2\x00\x03"),
            file("f", br#"{"traceEvents": []}"#),
            file("g", b""),
            file("h", b"hello"),
            directory.path().join("i"),
        ];
        let inputs = Inputs::of(&paths);
        let kinds: Vec<InputKind> = inputs.found.iter().map(|found| found.kind).collect();
        assert_eq!(
            kinds,
            [InputKind::Recording, InputKind::Recording, InputKind::Summary, InputKind::Table, InputKind::Archive]
        );
        let left_out: Vec<String> = inputs.left_out.iter().map(ToString::to_string).collect();
        assert!(
            left_out[0].ends_with("f: it is a trace of PyTorch's profiler: give it behind --kernels"),
            "{left_out:?}"
        );
        assert!(
            left_out[1].ends_with("g: it is empty") && left_out[2].contains("h: it is no recording"),
            "{left_out:?}"
        );
        assert!(left_out[3].contains("i: No such file"), "{left_out:?}");
        assert_eq!(inputs.of_kind(InputKind::Summary), [directory.path().join("c")]);
    }

    #[test]
    fn a_directory_is_an_archive_a_dataset_or_a_place_of_files() {
        let directory = tempfile::tempdir().unwrap();
        let make = |path: &str, content: &[u8]| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        make("experiment/traces.otf2", b"");
        make("experiment/profile.cubex", b"");
        make("experiment/nccl/summary.json", TEXT.as_bytes());
        make("untraced/nccl/summary.json", TEXT.as_bytes());
        make("untraced/nccl/other.json", b"{}");
        make("untraced/profile.cubex", b"");
        make("apart/nccl/summary.10.json", TEXT.as_bytes());
        make("apart/nccl/summary.9.json", TEXT.as_bytes());
        make("dataset/process=ab/operations.parquet", b"PAR1");
        make("files/r10.jsonl.gz", &compressed(META));
        make("files/r2.jsonl.gz", b"damaged");
        make("files/all.json", TEXT.as_bytes());
        make("files/other.json", b"{}");
        make("files/below/r3.jsonl.gz", &compressed(META));
        make("nothing/other.json", b"{}");
        let of = |name: &str| Inputs::of(&[directory.path().join(name)]);
        let names = |inputs: &Inputs| {
            let name = |found: &ReportInput| (found.path.file_name().unwrap().to_str().unwrap().to_owned(), found.kind);
            inputs.found.iter().map(name).collect::<Vec<_>>()
        };
        let found = |name: &str, kind| (name.to_owned(), kind);
        assert_eq!(names(&of("experiment")), [found("traces.otf2", InputKind::Archive)]);
        assert_eq!(names(&of("untraced")), [found("summary.json", InputKind::Summary)]);
        let apart = ["summary.9.json", "summary.10.json"].map(|name| found(name, InputKind::Summary));
        assert_eq!(names(&of("apart")), apart);
        assert_eq!(names(&of("dataset")), [found("dataset", InputKind::Table)]);
        let files = [
            found("all.json", InputKind::Summary),
            // its reader says what is wrong with it
            found("r2.jsonl.gz", InputKind::Recording),
            found("r10.jsonl.gz", InputKind::Recording),
        ];
        assert_eq!(names(&of("files")), files);
        let nothing = of("nothing");
        assert!(nothing.found.is_empty() && nothing.left_out[0].cause.starts_with("there is no recording"));
    }
}
