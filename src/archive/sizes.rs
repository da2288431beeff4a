//! Sizes and names of an archive's communicators, which its lanes do not say.

use crate::otf2::SUMMARY;
use common::summary::{Summary, SummaryCommunicator};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Number of ranks, number of nodes and name of each communicator, by its id.
pub(crate) type Sizes = BTreeMap<u64, (i32, i32, String)>;

/// Reads them from the job's summary beside an archive, if there is one.
pub(crate) fn sizes(anchor: &Path) -> Sizes {
    let summary = read(&anchor.with_file_name(SUMMARY));
    let summary: Option<Summary> = summary.and_then(|text| serde_json::from_slice(&text).ok());
    let summary = summary.filter(|summary| summary.unbelievable().is_none());
    let communicators = summary.map(|summary| summary.communicators).unwrap_or_default();
    let row =
        |it: SummaryCommunicator| Some((u64::from_str_radix(&it.comm, 16).ok()?, (it.nranks, it.nnodes, it.name)));
    communicators.into_iter().filter_map(row).collect()
}

/// Reads a file; a FIFO of its name holds nobody up.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    let mut text = Vec::new();
    file.metadata().ok()?.is_file().then(|| file.read_to_end(&mut text)).and_then(Result::ok)?;
    Some(text)
}
