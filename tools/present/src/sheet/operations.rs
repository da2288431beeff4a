//! The operations' table: one row a call of a rank, with its place on the common clock and what the comparison of the
//! ranks says about it.

use super::report_table::ReportTable;
use super::{Sheet, SheetWriter};
use common::name::NcclName;
use common::operation::Later;
use report::Unwritten;
use report::analysis::whole::{Onlooker, Placed};
use report::job::Job;
use report::stream::{CallKind, CallTags, JudgedCall};
use std::path::Path;

/// Name of the operations' table.
const NAME: &str = "operations";
/// Rows that are kept before they are written.
const ROWS: usize = 1 << 16;

/// A row.
#[derive(Debug, Clone)]
struct CallRow {
    judged: JudgedCall,
    comm: u64,
    gpu: String,
    /// Rank in the job.
    rank: Option<u32>,
    host: String,
    dimension: String,
    step: Option<u64>,
}

/// An onlooker that writes the calls of all ranks as they come. It keeps at most 65,536 rows.
///
/// An exchange is one row. Its number of messages is the number of operations that NCCL counts.
#[derive(Debug)]
pub struct OperationSheet<W> {
    rows: Vec<CallRow>,
    writer: W,
    /// Ranks in the job, and names of the machines, by GPU.
    gpus: Option<Vec<(Option<u32>, String)>>,
    /// The first error; no row is written behind it.
    failed: Option<Unwritten>,
}

impl<W: SheetWriter> OperationSheet<W> {
    /// Begins `operations.csv` or `operations.parquet` in a directory.
    ///
    /// # Errors
    /// The directory or the file cannot be made.
    pub fn create(directory: &Path) -> Result<Self, Unwritten> {
        let writer = W::create(directory, NAME)?;
        Ok(Self { rows: Vec::new(), writer, gpus: None, failed: None })
    }

    /// Writes the last rows and completes the file.
    ///
    /// # Errors
    /// The first problem with the file, also an earlier one.
    pub fn finish(mut self) -> Result<(), Unwritten> {
        self.flush();
        match self.failed {
            Some(error) => Err(error),
            None => self.writer.close(),
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.writer.add(&sheet(&self.rows)).err();
        }
        self.rows.clear();
    }
}

/// The path of the incomplete file.
impl<W: AsRef<Path>> AsRef<Path> for OperationSheet<W> {
    fn as_ref(&self) -> &Path {
        self.writer.as_ref()
    }
}

/// Returns the rank in the job and the machine of each GPU.
fn gpus(job: &Job) -> Vec<(Option<u32>, String)> {
    let ranks = job.ranks().unwrap_or_default();
    job.node_names().into_iter().enumerate().map(|(gpu, host)| (ranks.get(gpu).copied(), host)).collect()
}

impl<W: SheetWriter> Onlooker for OperationSheet<W> {
    fn call(&mut self, job: &Job, judged: &JudgedCall, placed: &Placed<'_>) {
        if self.failed.is_some() {
            return;
        }
        let call = judged.call();
        let comm = job.communicators.get(call.communicator).map_or(0, |communicator| communicator.comm);
        let gpu = job.gpus.get(call.gpu).map(|gpu| gpu.name.clone()).unwrap_or_default();
        let (rank, host) = self.gpus.get_or_insert_with(|| gpus(job)).get(call.gpu).cloned().unwrap_or_default();
        let (dimension, step) = (placed.dimension.to_owned(), placed.step);
        self.rows.push(CallRow { judged: judged.clone(), comm, gpu, rank, host, dimension, step });
        if self.rows.len() >= ROWS {
            self.flush();
        }
    }
}

fn sheet(rows: &[CallRow]) -> Sheet {
    let name = |name: NcclName| (name != NcclName::none()).then(|| name.text());
    let span = |row: &CallRow, place: usize| row.judged.part.span.map(|span| span[place]);
    ReportTable::new(NAME, rows)
        .value("occurrence", |row| row.judged.occurrence)
        .value("communicator", |row| format!("{:016x}", row.comm))
        .value("rank", |row| i64::from(row.judged.call().rank))
        .value("gpu", |row| row.gpu.as_str())
        .value("job_rank", |row| row.rank.map(u64::from))
        .value("host", |row| row.host.as_str())
        .value("dimension", |row| row.dimension.as_str())
        .value("step", |row| row.step)
        .value("function", |row| row.judged.call().function.text())
        .value("kind", |row| kind(row.judged.call().kind))
        .value("sequence", |row| row.judged.call().sequence.map(|(number, _)| number))
        .value("replay", |row| row.judged.call().sequence.map(|(_, replay)| u64::from(replay)))
        .value("messages", |row| row.judged.call().messages.len() as u64)
        .value("bytes", |row| row.judged.call().bytes)
        .value("count", |row| row.judged.call().count)
        .value("type", |row| name(row.judged.call().datatype))
        .value("root", |row| row.judged.call().root.map(i64::from))
        .value("algorithm", |row| name(row.judged.call().algorithm))
        .value("protocol", |row| name(row.judged.call().protocol))
        .value("source", |row| row.judged.call().source.text())
        .value("enqueued_ns", |row| row.judged.call().enqueued)
        .value("start_ns", |row| span(row, 0))
        .value("stop_ns", |row| span(row, 1))
        .value("duration_ns", |row| row.judged.call().duration)
        .value("wait_ns", |row| row.judged.part.wait)
        .value("wait_error_ns", |row| row.judged.part.wait.map(|_| row.judged.part.likely))
        .value("transfer_ns", |row| row.judged.latest.map(|[start, stop]| (stop - start).max(0)))
        .value("cost_ns", |row| row.judged.cost)
        .value("lateness_ns", |row| row.judged.latest.map(|_| row.judged.margin))
        .value("fused", |row| row.judged.call().is_fused)
        .value("unfinished", |row| row.judged.call().unfinished)
        .value("later", |row| row.judged.call().later().map(later))
        .value("queued_ns", |row| row.judged.call().queued().filter(|_| row.judged.call().later().is_some()))
        .value("tag", |row| tag(&row.judged.call().tags))
        .sheet()
}

/// Returns the tag as the rows by tag have it: a text, since not each table has whole numbers of 64 bits without a sign.
fn tag(tags: &CallTags) -> Option<String> {
    match tags {
        CallTags::One(0) => None,
        CallTags::One(tag) => Some(tag.to_string()),
        CallTags::Each(_) => Some("several".to_owned()),
    }
}

fn later(later: Later) -> &'static str {
    match later {
        Later::Host => "launch",
        Later::Gpu => "gpu",
    }
}

fn kind(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Collective => "collective",
        CallKind::Exchange => "exchange",
        CallKind::AllToAll => "all-to-all",
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::csv::CsvFile;
    use super::super::super::parquet::ParquetFile;
    use super::*;
    use crate::blank::blank;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use report::job::{Communicator, Gpu, Process, Time, TimedBy};
    use report::stream::{Call, RankPart};
    use std::fs::File;

    fn job() -> Job {
        let communicator = Communicator { comm: 0xab, ..Communicator::default() };
        let gpu = Gpu { name: "rank 3".into(), ..Gpu::default() };
        let process = Process { rank: Some(3), host: Some("node7".into()), ..Process::default() };
        Job { processes: vec![process], gpus: vec![gpu], communicators: vec![communicator], ..Job::default() }
    }

    fn judged(number: u64) -> JudgedCall {
        let call = Call {
            rank: 3,
            function: NcclName::of(Some(c"AllReduce")),
            sequence: Some((number, 0)),
            bytes: 64,
            algorithm: NcclName::of(Some(c"RING")),
            enqueued: -5,
            source: TimedBy::Stamps,
            duration: 90,
            launched: Some(1_000_000),
            tags: match number {
                2 => CallTags::Each([7, 0].into()),
                // beyond what a number with a sign holds
                _ => CallTags::One(number.wrapping_neg()),
            },
            time: Some(Time { start: 1_020_000, stop: 1_020_090, ..Time::default() }),
            ..blank()
        };
        let span = [100 * number as i64, 100 * number as i64 + 90];
        let part = RankPart { call, span: Some(span), wait: Some(30), likely: 4, error: 9 };
        let latest = Some([span[0] + 30, span[0] + 95]);
        JudgedCall { part, occurrence: number, latest, cost: None, shared: 0, margin: 0 }
    }

    #[test]
    fn all_rows_come_back_in_parts_of_bounded_length() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("new");
        let (mut text, mut binary) = (
            OperationSheet::<CsvFile>::create(&place).unwrap(),
            OperationSheet::<ParquetFile>::create(&place).unwrap(),
        );
        let all = ROWS as u64 + 7;
        for number in 0..all {
            // the first one lies in the warm-up
            let placed = Placed { step: number.checked_sub(1), dimension: "DP" };
            text.call(&job(), &judged(number), &placed);
            binary.call(&job(), &judged(number), &placed);
            assert!(text.rows.len() < ROWS);
        }
        text.finish().unwrap();
        binary.finish().unwrap();
        let text = std::fs::read_to_string(place.join("operations.csv")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len() as u64, all + 1);
        assert!(lines[0].starts_with("occurrence,communicator,rank,gpu,job_rank,host,dimension,step,"), "{}", lines[0]);
        assert!(lines[1].contains(",rank 3,3,node7,DP,,AllReduce,"), "{}", lines[1]);
        let second = "1,00000000000000ab,3,rank 3,3,node7,DP,0,AllReduce,collective,1,0,0,64,,,,RING,,stamps,\
                      -5,100,190,90,30,4,65,,0,false,false,gpu,20000,18446744073709551615";
        assert_eq!(lines[2], second);
        assert!(lines[1].ends_with(",gpu,20000,") && lines[3].ends_with(",gpu,20000,several"), "{:?}", &lines[1..4]);
        let file = SerializedFileReader::new(File::open(place.join("operations.parquet")).unwrap()).unwrap();
        let groups: Vec<i64> = file.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(groups, [ROWS as i64, 7]);
        let row = file.get_row_iter(None).unwrap().nth(2).unwrap().unwrap().to_string();
        assert!(row.contains("rank: 3, gpu: \"rank 3\"") && row.contains("transfer_ns: 65, cost_ns: null"), "{row}");
        // no incomplete file stays
        assert_eq!(place.read_dir().unwrap().count(), 2);
    }

    #[test]
    fn a_stream_without_calls_gives_a_table_without_rows() {
        let directory = tempfile::tempdir().unwrap();
        OperationSheet::<ParquetFile>::create(directory.path()).unwrap().finish().unwrap();
        let file = File::open(directory.path().join("operations.parquet")).unwrap();
        let meta = SerializedFileReader::new(file).unwrap();
        let meta = meta.metadata().file_metadata();
        assert_eq!((meta.num_rows(), meta.schema_descr().num_columns()), (0, 34));
    }
}
