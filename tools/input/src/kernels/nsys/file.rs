//! An export of Nsight Systems: `nsys export --type sqlite`. Its documentation ("SQLite Export Schema Reference") has the
//! tables and columns. They differ between releases, so none is taken for granted.

use super::super::kineto::TraceDay;
use super::super::own::KernelLane;
use super::database::{Database, integer, text};
use super::ranges::{self, Launch};
use crate::archive::nccl_kernel::Runs;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Most kernels of a file: 128 MiB of them.
pub(super) const MOST: usize = 1 << 22;
/// Most distinct names of kernels in a file. Programs have some thousands.
const NAMES: usize = 1 << 18;
/// Most processes of a file. nsys records those of one machine.
const PROCESSES: usize = 4096;
/// Columns with the name of a kernel, the fullest first.
const NAME: [&str; 4] = ["demangledName", "mangledName", "shortName", "name"];

/// An export, as far as it is of use here.
#[derive(Debug, Default)]
pub(super) struct NsysFile {
    /// Name of the machine.
    pub(super) host: Option<String>,
    /// The processes with kernels, by their id. Without ids, all kernels are of process 0.
    pub(super) processes: BTreeMap<i64, NsysProcess>,
    /// Replays of CUDA graphs that were recorded as a whole: their kernels are not known.
    pub(super) graphs: u64,
    /// Kernels without a name. Nobody knows whether they are NCCL's.
    pub(super) unnamed: u64,
}

/// The kernels of a process.
#[derive(Debug, Default)]
pub(super) struct NsysProcess {
    /// Kernels of the computation.
    pub(super) computing: Vec<TraceDay>,
    /// NCCL's own kernels.
    pub(super) nccl: Vec<(Runs, KernelLane, TraceDay)>,
    /// Rank in `MPI_COMM_WORLD`, where nsys has recorded MPI.
    pub(super) rank: Option<u32>,
    /// Places of its GPUs on the PCI bus.
    pub(super) gpus: Vec<String>,
}

/// Reads an export.
///
/// # Errors
/// The cause.
pub(super) fn read(file: &Path) -> Result<NsysFile, String> {
    let database = Database::open(file)?;
    let began = began(&database)?;
    let mut found = NsysFile { host: host(&database)?, ..NsysFile::default() };
    kernels(&database, began, &mut found)?;
    database.rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &["start"], |_| {
        found.graphs += 1;
        Ok(())
    })?;
    ranks(&database, &mut found)?;
    gpus(&database, &mut found)?;
    Ok(found)
}

/// Returns the time of day at time 0 of the file, nanoseconds since 1970.
fn began(database: &Database) -> Result<i128, String> {
    let mut began = None;
    database.rows("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |row| {
        began = began.or(integer(row, 0));
        Ok(())
    })?;
    began.filter(|&began| began > 0).map(i128::from).ok_or_else(|| {
        "it does not say when its session began (TARGET_INFO_SESSION_START_TIME): export it with a newer nsys".into()
    })
}

fn host(database: &Database) -> Result<Option<String>, String> {
    let mut host = None;
    database.rows("TARGET_INFO_SYSTEM_ENV", &["name", "value"], |row| {
        if text(row, 0).is_some_and(|name| name == "Hostname") {
            host = text(row, 1).filter(|host| !host.is_empty());
        }
        Ok(())
    })?;
    Ok(host)
}

/// Returns the process of a serialized id, by nsys' documentation.
fn process_of(global: i64) -> i64 {
    (global >> 24) & 0xff_ffff
}

fn kernels(database: &Database, began: i128, found: &mut NsysFile) -> Result<(), String> {
    const TABLE: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
    let columns = database.columns(TABLE)?;
    let has = |name: &&str| columns.iter().any(|column| column == name);
    let Some(name) = NAME.into_iter().find(has).filter(|_| has(&"start") && has(&"end")) else {
        return Err(format!("it has no table {TABLE} with times and names: was CUDA traced (nsys profile -t cuda)?"));
    };
    let mut names: HashMap<i64, Option<Option<Runs>>> = HashMap::new();
    let mut kept = 0;
    // process, place and launch of NCCL's kernels whose name does not say what they run
    let mut unsaid: Vec<(i64, usize, Launch)> = vec![];
    database.rows(TABLE, &["start", "end", "globalPid", "deviceId", "streamId", name, "correlationId"], |row| {
        let Some((start, end)) = integer(row, 0).zip(integer(row, 1)).filter(|(start, end)| end >= start) else {
            return Ok(());
        };
        // the number of a text, or the text itself
        let runs = match integer(row, 5) {
            Some(number) => match names.get(&number) {
                Some(known) => *known,
                None if names.len() == NAMES => return Err(format!("it has more than {NAMES} names of kernels")),
                None => {
                    let runs = database.text(number)?.map(|name| Runs::of(&name));
                    names.insert(number, runs);
                    runs
                }
            },
            None => text(row, 5).map(|name| Runs::of(&name)),
        };
        let Some(runs) = runs else {
            found.unnamed += 1;
            return Ok(());
        };
        if kept == MOST {
            return Err(format!("it has more than {MOST} kernels"));
        }
        kept += 1;
        let process = integer(row, 2).map_or(0, process_of);
        if found.processes.len() == PROCESSES && !found.processes.contains_key(&process) {
            return Err(format!("it has kernels of more than {PROCESSES} processes"));
        }
        let of = found.processes.entry(process).or_default();
        let span = [start, end].map(|time| began.saturating_add(time.into()));
        let lane = KernelLane([3, 4].map(|column| integer(row, column).unwrap_or_default()));
        match runs {
            Some(runs) => {
                if let Some(launch) = integer(row, 2).zip(integer(row, 6)).filter(|_| runs == Runs::Any) {
                    unsaid.push((process, of.nccl.len(), launch));
                }
                of.nccl.push((runs, lane, span));
            }
            None => of.computing.push(span),
        }
        Ok(())
    })?;
    let launches: Vec<Launch> = unsaid.iter().map(|(_, _, launch)| *launch).collect();
    let named = ranges::named(database, &launches)?;
    for (process, place, launch) in unsaid {
        let of = found.processes.get_mut(&process).and_then(|of| of.nccl.get_mut(place));
        if let Some((kernel, runs)) = of.zip(named.get(&launch)) {
            kernel.0 = *runs;
        }
    }
    Ok(())
}

/// Adds the ranks of processes, where nsys has recorded MPI.
fn ranks(database: &Database, found: &mut NsysFile) -> Result<(), String> {
    database.rows("MPI_RANKS", &["globalTid", "rank"], |row| {
        if let Some((thread, rank)) = integer(row, 0).zip(integer(row, 1))
            && let Some(of) = found.processes.get_mut(&process_of(thread))
        {
            of.rank = u32::try_from(rank).ok();
        }
        Ok(())
    })
}

/// Adds the GPUs of processes.
fn gpus(database: &Database, found: &mut NsysFile) -> Result<(), String> {
    let mut places: BTreeMap<i64, String> = BTreeMap::new();
    database.rows("TARGET_INFO_GPU", &["id", "busLocation"], |row| {
        if let Some((gpu, place)) = integer(row, 0).zip(text(row, 1))
            && places.len() < PROCESSES
        {
            places.insert(gpu, place);
        }
        Ok(())
    })?;
    database.rows("TARGET_INFO_CUDA_DEVICE", &["gpuId", "pid"], |row| {
        if let Some((place, process)) = integer(row, 0).and_then(|gpu| places.get(&gpu)).zip(integer(row, 1))
            && let Some(of) = found.processes.get_mut(&process)
            && !of.gpus.contains(place)
        {
            of.gpus.push(place.clone());
        }
        Ok(())
    })
}
