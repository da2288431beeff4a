//! The footer of a file: the process, its communicators and its summary, as key-value metadata.

use super::FORMAT;
use crate::job::{Process, Unreadable};
use common::conditions::ConditionRow;
use common::moments;
use common::ranks;
use common::summary::Summary;
use parquet::file::metadata::{FileMetaData, KeyValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The keys, in the order of [`About::entries`].
const KEYS: [&str; 5] = [
    "scorep-nccl.format",
    "scorep-nccl.process",
    "scorep-nccl.communicators",
    "scorep-nccl.summary",
    "scorep-nccl.conditions",
];

/// A communicator as the process made it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MadeCommunicator {
    /// Id, 16 hexadecimal digits.
    pub comm: String,
    /// Name, or empty.
    pub name: String,
    /// Number of ranks; 0 where NCCL does not report it.
    pub nranks: i32,
    /// Number of nodes; 0 where NCCL does not report it.
    pub nnodes: i32,
    /// Rank of this process.
    pub rank: i32,
    /// When the process made it, nanoseconds of its clock; 0 where that is unknown.
    pub made: u64,
}

/// Everything that a file says beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The process.
    pub process: Process,
    /// Its communicators, in the order in which they were made.
    pub communicators: Vec<MadeCommunicator>,
    /// Its summary, where there is one.
    pub summary: Option<Summary>,
    /// What it had of its host, in the order of time; empty where that was not recorded. Times are those of its clock.
    pub conditions: Vec<ConditionRow>,
}

impl About {
    /// Returns the entries for the footer.
    ///
    /// # Errors
    /// None for values whose numbers are finite.
    pub(super) fn entries(&self) -> serde_json::Result<Vec<KeyValue>> {
        let values = [
            FORMAT.to_string(),
            serde_json::to_string(&self.process)?,
            serde_json::to_string(&self.communicators)?,
            serde_json::to_string(&self.summary)?,
            serde_json::to_string(&self.conditions)?,
        ];
        Ok(KEYS.iter().zip(values).map(|(key, value)| KeyValue::new((*key).to_owned(), value)).collect())
    }

    /// Reads the footer of a file, without the summary and the conditions.
    ///
    /// # Errors
    /// An entry is missing or damaged, or the format is newer.
    pub(super) fn read(metadata: &FileMetaData, file: &str) -> Result<Self, Unreadable> {
        let format: u32 = entry(metadata, KEYS[0], file)?;
        if format > FORMAT {
            let cause = format!("format {format} is newer than format {FORMAT} of this tool: use a newer scorep-nccl");
            return Err(wrong(file, KEYS[0], cause));
        }
        let process: Process = entry(metadata, KEYS[1], file)?;
        let communicators: Vec<MadeCommunicator> = entry(metadata, KEYS[2], file)?;
        if let Some(odd) = communicators.iter().find(|it| u64::from_str_radix(&it.comm, 16).is_err()) {
            return Err(wrong(file, KEYS[2], format!("\"{}\" is no id of a communicator", odd.comm)));
        }
        let launched = process.ranks.map(i64::from);
        if let Some(all) = launched.filter(|&all| !ranks::are_possible(all)) {
            return Err(wrong(file, KEYS[1], ranks::refusal(all)));
        }
        let times = [process.real0, process.mono0].into_iter().chain(process.span);
        if let Some(late) = times.into_iter().find(|&time| time > moments::LATEST) {
            return Err(wrong(file, KEYS[1], moments::refusal(late)));
        }
        if let Some(late) = communicators.iter().map(|it| it.made).find(|&made| made > moments::LATEST) {
            return Err(wrong(file, KEYS[2], moments::refusal(late)));
        }
        let numbers = communicators.iter().flat_map(|it| [it.nranks, it.nnodes]);
        if let Some(number) = numbers.into_iter().find(|&number| !ranks::are_possible(number)) {
            return Err(wrong(file, KEYS[2], ranks::refusal(number)));
        }
        Ok(Self { process, communicators, summary: None, conditions: vec![] })
    }

    /// Reads the summary of a file; `None` where it has none.
    ///
    /// # Errors
    /// The entry is missing or damaged.
    pub(super) fn summary(metadata: &FileMetaData, file: &str) -> Result<Option<Summary>, Unreadable> {
        let summary: Option<Summary> = entry(metadata, KEYS[3], file)?;
        match summary.as_ref().and_then(Summary::unbelievable) {
            Some((field, cause)) => Err(wrong(file, KEYS[3], format!("{field}: {cause}"))),
            None => Ok(summary),
        }
    }

    /// Reads the conditions of a file's process; none where an older version has made the file.
    ///
    /// # Errors
    /// The entry is damaged, or a time is too far in the future.
    pub(super) fn conditions(metadata: &FileMetaData, file: &str) -> Result<Vec<ConditionRow>, Unreadable> {
        let rows: Vec<ConditionRow> = match value(metadata, KEYS[4]) {
            Some(value) => serde_json::from_str(value).map_err(|error| wrong(file, KEYS[4], error.to_string()))?,
            None => vec![],
        };
        let times = rows.iter().flat_map(|row| [row.until, row.length_us.saturating_mul(1000)]);
        match times.into_iter().find(|&time| time > moments::LATEST) {
            Some(late) => Err(wrong(file, KEYS[4], moments::refusal(late))),
            None => Ok(rows),
        }
    }
}

fn value<'a>(metadata: &'a FileMetaData, key: &str) -> Option<&'a str> {
    let mut entries = metadata.key_value_metadata().into_iter().flatten();
    entries.find(|it| it.key == key)?.value.as_deref()
}

fn entry<T: DeserializeOwned>(metadata: &FileMetaData, key: &str, file: &str) -> Result<T, Unreadable> {
    let Some(value) = value(metadata, key) else {
        return Err(wrong(
            file,
            key,
            "the footer has no such entry: `scorep-nccl table` has not made this file".into(),
        ));
    };
    serde_json::from_str(value).map_err(|error| wrong(file, key, error.to_string()))
}

fn wrong(file: &str, key: &str, cause: String) -> Unreadable {
    Unreadable::whole(file, cause).at(format!("entry {key} of the footer"))
}
