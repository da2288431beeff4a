//! Intervals as rows of a CSV file.

use super::condition_columns::CONDITION_COLUMNS;
use super::lines::{GIGABYTE, named};
use super::sampler::Interval;
use common::files;
use present::csv::no_formula;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Columns of all rows, and of devices whose bytes are counted.
const HEADER: [&str; 9] =
    ["time", "seconds", "kind", "device", "link", "sent_bytes", "received_bytes", "sent_gb_s", "received_gb_s"];

/// The file, which grows by each interval.
pub(super) struct CsvFile {
    file: File,
    path: PathBuf,
    /// Length of what is whole.
    length: u64,
}

impl CsvFile {
    /// Makes the file, or replaces what is there; a device or pipe is written into.
    ///
    /// # Errors
    /// When it cannot be written, in words.
    pub(super) fn new(path: &Path) -> Result<Self, String> {
        let file = files::begin(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut csv = Self { file, path: path.to_owned(), length: 0 };
        let mut rows = csv::Writer::from_writer(Vec::new());
        rows.write_record(HEADER.into_iter().chain(CONDITION_COLUMNS.map(|(name, _)| name)))
            .map_err(|error| error.to_string())?;
        csv.put(rows)?;
        Ok(csv)
    }

    /// Adds the rows of an interval that ended at `time`.
    ///
    /// # Errors
    /// When they cannot be written, in words; then the file lacks all of them.
    pub(super) fn add(&mut self, time: &str, interval: &Interval) -> Result<(), String> {
        let mut rows = csv::Writer::from_writer(Vec::new());
        for step in &interval.conditions {
            let seconds = format!("{:.6}", step.seconds);
            let begin = [time, &seconds, "gpu", &no_formula(step.bus.clone()), "", "", "", "", ""].map(str::to_owned);
            rows.write_record(begin.into_iter().chain(CONDITION_COLUMNS.map(|(_, cell)| cell(step))))
                .map_err(|error| error.to_string())?;
        }
        for row in &interval.rows {
            let (kind, device, link) = named(&row.device);
            let bytes = |of: Option<u64>| of.map_or_else(String::new, |bytes| bytes.to_string());
            let step = row.bytes.map(|bytes| bytes.step);
            let record = [
                time.to_owned(),
                format!("{:.6}", interval.seconds),
                kind.to_owned(),
                no_formula(device.to_owned()),
                link.map_or_else(String::new, |link| link.to_string()),
                bytes(step.map(|step| step.sent)),
                bytes(step.map(|step| step.received)),
                format!("{:.6}", row.rate.sent / GIGABYTE),
                format!("{:.6}", row.rate.received / GIGABYTE),
            ];
            let none = std::iter::repeat_n(String::new(), CONDITION_COLUMNS.len());
            rows.write_record(record.into_iter().chain(none)).map_err(|error| error.to_string())?;
        }
        self.put(rows)
    }

    /// Writes rows to their end, or none.
    fn put(&mut self, rows: csv::Writer<Vec<u8>>) -> Result<(), String> {
        let rows = rows.into_inner().map_err(|error| error.to_string())?;
        let written = self.file.write_all(&rows);
        match written {
            Ok(()) => self.length += rows.len() as u64,
            // a pipe or a device takes nothing back
            Err(_) => _ = self.take_back(),
        }
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn take_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(drop)
    }
}
