//! NCCL's NVTX ranges: which function launched a kernel whose own name does not say what it runs.
//!
//! NCCL opens a range with the name of each function of its API, on the thread that calls it. A call outside of groups
//! launches its kernel within its range; a group launches at its end, and then the range says nothing.

use super::database::{Database, integer, text};
use crate::archive::nccl_kernel::Runs;
use common::name::NcclName;
use std::collections::{BTreeMap, HashMap};

/// The launch of a kernel: the serialized id of its process without the thread, and CUPTI's number.
pub(super) type Launch = (i64, i64);

/// Most ranges and names of ranges.
const MOST: usize = 1 << 22;
/// Bits of a serialized id that are the thread's.
const THREAD: i64 = 0xff_ffff;

/// Returns the operations of kernels by their launches, as far as ranges say them.
///
/// # Errors
/// The file is damaged.
pub(super) fn named(database: &Database, launches: &[Launch]) -> Result<HashMap<Launch, Runs>, String> {
    let mut named = HashMap::new();
    if launches.is_empty() {
        return Ok(named);
    }
    let ranges = ranges(database)?;
    let wanted: std::collections::HashSet<&Launch> = launches.iter().collect();
    database.rows("CUPTI_ACTIVITY_KIND_RUNTIME", &["globalTid", "correlationId", "start"], |row| {
        if let (Some(thread), Some(number), Some(at)) = (integer(row, 0), integer(row, 1), integer(row, 2)) {
            let launch = (thread & !THREAD, number);
            if wanted.contains(&launch)
                && let Some((_, &(end, runs))) = ranges.get(&thread).and_then(|of| of.range(..=at).next_back())
                && at < end
            {
                named.insert(launch, runs);
            }
        }
        Ok(())
    })?;
    Ok(named)
}

/// Ends of the ranges and their operations, by thread and begin.
type Ranges = HashMap<i64, BTreeMap<i64, (i64, Runs)>>;

fn ranges(database: &Database) -> Result<Ranges, String> {
    let mut ranges: Ranges = HashMap::new();
    let mut names: HashMap<i64, Option<Runs>> = HashMap::new();
    let mut kept = 0;
    database.rows("NVTX_EVENTS", &["start", "end", "globalTid", "text", "textId"], |row| {
        let runs = match (text(row, 3), integer(row, 4)) {
            (Some(name), _) => of_range(&name),
            (None, Some(number)) if names.len() < MOST => match names.get(&number) {
                Some(known) => *known,
                None => {
                    let runs = database.text(number)?.and_then(|name| of_range(&name));
                    names.insert(number, runs);
                    runs
                }
            },
            _ => None,
        };
        let times = integer(row, 0).zip(integer(row, 1)).zip(integer(row, 2));
        if let Some((((start, end), thread), runs)) = times.zip(runs).filter(|_| kept < MOST) {
            kept += 1;
            ranges.entry(thread).or_default().insert(start, (end, runs));
        }
        Ok(())
    })?;
    Ok(ranges)
}

/// Returns the operations of a function of NCCL's API.
fn of_range(name: &str) -> Option<Runs> {
    match name.strip_prefix("nccl")? {
        function @ ("AllReduce" | "AllGather" | "ReduceScatter" | "Broadcast" | "Reduce") => {
            Some(Runs::Function(NcclName::of_text(function)))
        }
        "Send" | "Recv" => Some(Runs::Messages),
        _ => None,
    }
}
