//! Sizes and names of an archive's communicators, and the size of its job, which its lanes do not say.

use crate::otf2::SUMMARY;
use common::summary::{Summary, SummaryCommunicator};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// See the module.
#[derive(Debug, Default)]
pub struct Sizes {
    /// Number of ranks, number of nodes and name of each communicator, by its id.
    pub(crate) by_id: BTreeMap<u64, (i32, i32, String)>,
    /// Number of ranks of the largest communicator, if the summary has all processes of the job.
    pub(crate) largest: Option<usize>,
}

/// Reads them from the job's summary beside an archive, if there is one.
pub fn sizes(anchor: &Path) -> Sizes {
    let summary = read(&anchor.with_file_name(SUMMARY));
    let summary: Option<Summary> = summary.and_then(|text| serde_json::from_slice(&text).ok());
    let Some(summary) = summary.filter(|summary| summary.unbelievable().is_none()) else { return Sizes::default() };
    let launched = summary.processes.iter().filter_map(|process| process.origin.ranks).max();
    let mut has_all = usize::try_from(launched.unwrap_or(0)).is_ok_and(|all| all <= summary.processes.len());
    let (mut by_id, mut largest) = (BTreeMap::new(), 0);
    for SummaryCommunicator { comm, nranks, nnodes, name, ranks } in summary.communicators {
        let Ok(id) = u64::from_str_radix(&comm, 16) else { continue };
        by_id.insert(id, (nranks, nnodes, name));
        let all = usize::try_from(nranks).unwrap_or(0);
        has_all &= all <= ranks.len();
        largest = largest.max(all);
    }
    Sizes { by_id, largest: has_all.then_some(largest) }
}

/// Reads a file; a FIFO of its name holds nobody up.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    let mut text = Vec::new();
    file.metadata().ok()?.is_file().then(|| file.read_to_end(&mut text)).and_then(Result::ok)?;
    Some(text)
}
