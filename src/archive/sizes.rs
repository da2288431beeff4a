//! Sizes and names of an archive's communicators, which its lanes do not say.

use crate::otf2::SUMMARY;
use common::summary::{Communicator, Summary};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of ranks, number of nodes and name of each communicator, by its id.
pub(crate) type Sizes = BTreeMap<u64, (i32, i32, String)>;

/// Reads them from the job's summary beside an archive, if there is one.
pub(crate) fn sizes(anchor: &Path) -> Sizes {
    let summary = std::fs::read(anchor.with_file_name(SUMMARY)).ok();
    let summary: Option<Summary> = summary.and_then(|text| serde_json::from_slice(&text).ok());
    let summary = summary.filter(|summary| summary.unbelievable().is_none());
    let communicators = summary.map(|summary| summary.communicators).unwrap_or_default();
    let row = |it: Communicator| Some((u64::from_str_radix(&it.comm, 16).ok()?, (it.nranks, it.nnodes, it.name)));
    communicators.into_iter().filter_map(row).collect()
}
