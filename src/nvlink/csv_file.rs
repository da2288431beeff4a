//! Intervals as rows of a CSV file.

use super::lines::{GIGABYTE, named};
use super::sampler::Interval;
use common::files;
use report::output::csv::no_formula;
use std::fs::File;
use std::path::Path;

const HEADER: [&str; 9] =
    ["time", "seconds", "kind", "device", "link", "sent_bytes", "received_bytes", "sent_gb_s", "received_gb_s"];

/// The file, which grows by each interval.
pub(super) struct CsvFile(csv::Writer<File>);

impl CsvFile {
    /// Makes the file, or replaces what is there; a device or pipe is written into.
    ///
    /// # Errors
    /// When it cannot be written, in words.
    pub(super) fn new(path: &Path) -> Result<Self, String> {
        let file = files::begin(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(HEADER).map_err(|error| error.to_string())?;
        Ok(Self(writer))
    }

    /// Adds the rows of an interval that ended at `time`.
    ///
    /// # Errors
    /// When they cannot be written, in words.
    pub(super) fn add(&mut self, time: &str, interval: &Interval) -> Result<(), String> {
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
            self.0.write_record(record).map_err(|error| error.to_string())?;
        }
        self.0.flush().map_err(|error| error.to_string())
    }
}
