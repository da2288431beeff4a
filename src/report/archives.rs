//! Archives as tables: the operations of each process, with kernels and regions beside them.

use input::archive::{self, Archive};
use input::otf2::{SUMMARY, apart};
use report::job::Unreadable;
use report::table::TableWriter;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What archives have beside operations, by the id of the process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Archived {
    /// Kernels of the computation, on the archive's clock.
    pub(super) kernels: BTreeMap<String, Vec<[u64; 2]>>,
    /// Regions of the user's steps.
    pub(super) regions: BTreeMap<String, Vec<[u64; 2]>>,
    /// Remarks for people, a sentence each.
    pub(super) notes: Vec<String>,
}

/// Writes the tables of archives, named by their anchor files, into a directory. Returns the archives that are left out.
pub(super) fn write(anchors: &[PathBuf], to: &Path, region: Option<&str>, archived: &mut Archived) -> Vec<Unreadable> {
    let mut left_out = Vec::new();
    for anchor in anchors {
        let before = entries(to);
        match in_child(anchor, to, region) {
            Ok(Archived { kernels, regions, notes }) => {
                archived.kernels.extend(kernels);
                archived.regions.extend(regions);
                archived.notes.extend(notes);
            }
            Err(cause) => {
                let file = anchor.display().to_string();
                let cause = cause.strip_prefix(&format!("{file}: ")).map(str::to_owned).unwrap_or(cause);
                left_out.push(Unreadable { file, place: None, cause });
                // tables of a part of its processes would pass for the job
                for made in entries(to).difference(&before) {
                    let _ = fs::remove_dir_all(to.join(made));
                }
            }
        }
    }
    if anchors.len() > left_out.len() {
        archived.notes.push(
            "Times of an archive come without their errors: waits below the likely error of GPU times count as none."
                .into(),
        );
    }
    left_out
}

/// Name of the hidden subcommand that starts a child.
pub(crate) const CHILD: &str = "archive-one";

/// Has a child write the tables of an archive, which is anybody's.
fn in_child(anchor: &Path, to: &Path, region: Option<&str>) -> Result<Archived, String> {
    let arguments = [anchor.into(), to.into()].into_iter().chain(region.map(OsString::from));
    apart::read(anchor, CHILD, arguments, &mut |_| ())
}

/// Returns the names of a directory's entries.
fn entries(directory: &Path) -> BTreeSet<OsString> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
}

/// Writes the tables of an archive, and returns its kernels, regions and notes.
///
/// # Errors
/// In words.
pub(super) fn one(anchor: &Path, to: &Path, region: Option<&str>) -> Result<Archived, String> {
    let mut archived = Archived::default();
    let words = |error: input::otf2::Otf2Error| error.to_string();
    let archive = Archive::open(anchor).map_err(words)?;
    let file = anchor.display().to_string();
    let kernels = archive.kernels().map_err(words)?;
    let regions = region.map(|name| archive.regions(name)).transpose().map_err(words)?.flatten();
    let sizes = archive::sizes(anchor);
    let mut any = false;
    let mut unknown = BTreeSet::new();
    for place in 0..archive.processes() {
        let Some(about) = archive.about(place, &file, &sizes) else { continue };
        any = true;
        unknown.extend(about.communicators.iter().filter(|made| made.nranks <= 0).map(|made| made.comm.clone()));
        let id = about.process.id.clone();
        let mut writer = TableWriter::create(to, &id).map_err(|error| error.to_string())?;
        let mut rows = archive.operations(place).map_err(words)?;
        while let Some(operation) = rows.next().map_err(words)? {
            writer.push(&operation).map_err(|error| error.to_string())?;
        }
        writer.finish(&about).map_err(|error| error.to_string())?;
        let of = |by_process: &[Vec<[u64; 2]>]| by_process.get(place).cloned().unwrap_or_default();
        if let Some(kernels) = &kernels {
            archived.kernels.insert(id.clone(), of(&kernels.by_process));
        }
        if let Some(regions) = &regions {
            archived.regions.insert(id, of(&regions.by_process));
        }
    }
    if !unknown.is_empty() {
        archived.notes.push(format!(
            "The number of ranks of {} communicators is unknown, so their collectives are not compared: {} does not \
             say it.",
            unknown.len(),
            anchor.with_file_name(SUMMARY).display()
        ));
    }
    match any {
        true => Ok(archived),
        false => {
            Err("the archive has no lanes of NCCL's operations: NCCL_SCOREP_LANES=off, or no NCCL in the job".into())
        }
    }
}
