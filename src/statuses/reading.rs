//! Reads the status files of a directory.

use super::life::{Life, Machine};
use super::{Counts, Observed};
use common::status::{ENDING, SCHEMA, Status};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Longest file that is read, bytes.
const LONGEST: u64 = 16 << 20;
/// Most threads that read. A network file system answers several at a time.
const MOST_THREADS: usize = 8;

/// The status files of a directory.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Processes, in the order of their files' names.
    pub(crate) processes: Vec<Observed>,
    /// Files that are left out: name and cause.
    pub(crate) left_out: Vec<String>,
}

/// Statuses with the names of their files, and files that are left out.
pub(crate) type Statuses = (Vec<(String, Status)>, Vec<String>);

/// The earlier reading of a process: counts alone, since it is read for progress alone.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Before {
    beat: u64,
    communicators: Vec<Counts>,
}

/// Reads all status files of a directory.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn read(directory: &Path) -> io::Result<Statuses> {
    let mut left_out = Vec::new();
    let mut found = Vec::new();
    for (name, status) in all::<Status>(directory)? {
        match status {
            Ok(status) if status.schema == SCHEMA => found.push((name, status)),
            Ok(Status { schema, .. }) if schema.is_empty() => left_out.push(format!("{name}: it is no status file")),
            Ok(Status { schema, .. }) => left_out.push(format!(
                "{name}: its form is `{schema}`, and this tool reads `{SCHEMA}`: use the library's tool"
            )),
            // a process may remove its own file
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => left_out.push(format!("{name}: {error}")),
        }
    }
    Ok((found, left_out))
}

/// Reads all status files of a directory twice, `gap` apart. If a process that does not say that it has ended has not
/// written in between, the files are read once more: its host may be busy.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn observe(directory: &Path, gap: Duration) -> io::Result<Reading> {
    let begun = Instant::now();
    let before: BTreeMap<String, Before> =
        all(directory)?.into_iter().filter_map(|(name, before)| Some((name, before.ok()?))).collect();
    thread::sleep(gap.saturating_sub(begun.elapsed()));
    let begun = Instant::now();
    let mut reading = observed(read(directory)?, &before);
    if reading.processes.iter().any(is_doubtful) {
        thread::sleep(gap.saturating_sub(begun.elapsed()));
        reading = observed(read(directory)?, &before);
    }
    Ok(reading)
}

fn is_doubtful(process: &Observed) -> bool {
    !process.beats && process.status.over.is_none() && !matches!(process.life, Life::Stopped | Life::Zombie)
}

fn observed((statuses, left_out): Statuses, before: &BTreeMap<String, Before>) -> Reading {
    let machine = Machine::own();
    let of_file = |(file, status): (String, Status)| {
        let earlier = before.get(&file);
        let moved = status.communicators.iter().map(Counts::from).map(|counts| {
            // a new process or communicator has moved
            let same = |other: &&Counts| (&other.comm, other.rank) == (&counts.comm, counts.rank);
            earlier.is_none_or(|earlier| earlier.communicators.iter().find(same) != Some(&counts))
        });
        let moved = moved.collect();
        let beats = earlier.is_none_or(|earlier| earlier.beat != status.beat);
        Observed { life: machine.life(&status), file, status, beats, moved }
    };
    let mut processes: Vec<Observed> = statuses.into_iter().map(of_file).collect();
    // a process that writes and is not found here lives in a container: the process ids of this host are others
    if processes.iter().any(|process| process.life == Life::Gone && process.beats && process.status.over.is_none()) {
        let gone = processes.iter_mut().filter(|process| process.life == Life::Gone);
        gone.for_each(|process| process.life = Life::Elsewhere);
    }
    Reading { processes, left_out }
}

/// Reads each file of a directory whose name is that of a status file, in the order of names.
fn all<T: DeserializeOwned + Send>(directory: &Path) -> io::Result<Vec<(String, io::Result<T>)>> {
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for entry in directory.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(ENDING) && !name.starts_with('.') {
            files.push((name, entry.path()));
        }
    }
    files.sort();
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    let share = files.len().div_ceil(threads).max(1);
    let read_share =
        |files: Vec<(String, PathBuf)>| files.into_iter().map(|(name, path)| (name, parsed(&path))).collect::<Vec<_>>();
    let shares: Vec<Vec<_>> = files.chunks(share).map(<[_]>::to_vec).collect();
    thread::scope(|scope| {
        let readers: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || read_share(share))).collect();
        let mut read = Vec::with_capacity(files.len());
        for reader in readers {
            read.extend(reader.join().map_err(|_| io::Error::other("a thread that reads has ended"))?);
        }
        Ok(read)
    })
}

fn parsed<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    // a FIFO of that name must not hold this program up
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if data.len() > LONGEST {
        return Err(io::Error::other(format!("it has more than {} MiB", LONGEST >> 20)));
    }
    let mut text = Vec::with_capacity(usize::try_from(data.len()).unwrap_or_default());
    file.take(LONGEST).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(|error| io::Error::other(format!("it is no status file: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::origin::Origin;
    use common::status::Communicator;
    use std::fs;

    const GAP: Duration = Duration::from_millis(5);

    fn write(directory: &Path, name: &str, status: &Status) {
        fs::write(directory.join(format!("{name}{ENDING}")), serde_json::to_string(status).unwrap()).unwrap();
    }

    #[test]
    fn foreign_files_are_left_out_and_named() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), "a", &Status { schema: SCHEMA.into(), ..Status::default() });
        write(directory.path(), "b", &Status { schema: "scorep-nccl status 9".into(), ..Status::default() });
        fs::write(directory.path().join("c.status.json"), "{\"a\": 1}").unwrap();
        fs::write(directory.path().join("d.status.json"), "{").unwrap();
        fs::create_dir(directory.path().join("e.status.json")).unwrap();
        fs::write(directory.path().join("other.json"), "{").unwrap();
        let Reading { processes, left_out } = observe(directory.path(), GAP).unwrap();
        assert_eq!(processes.len(), 1);
        assert_eq!(left_out.len(), 4, "{left_out:?}");
        assert!(left_out[0].contains("`scorep-nccl status 9`") && left_out[3].contains("it is no file"));
        assert!(observe(&directory.path().join("missing"), GAP).is_err());
    }

    #[test]
    fn what_moves_between_two_readings_is_noticed() {
        let communicator = |entered| Communicator { comm: "1".into(), entered, ..Communicator::default() };
        let origin = Origin { host: Some("elsewhere".into()), ..Origin::default() };
        let status = |beat, counts: [u64; 2]| Status {
            schema: SCHEMA.into(),
            beat,
            origin: origin.clone(),
            communicators: counts.map(communicator).to_vec(),
            ..Status::default()
        };
        let mut status_of_two = status(1, [5, 5]);
        status_of_two.communicators[1].comm = "2".into();
        let before = Before { beat: 1, communicators: status_of_two.communicators.iter().map(Counts::from).collect() };
        let before = BTreeMap::from([("a".to_owned(), before)]);
        let mut later = status_of_two.clone();
        (later.beat, later.communicators[1].entered) = (2, 6);
        let read =
            |status: &Status| observed((vec![("a".into(), status.clone())], vec![]), &before).processes.remove(0);
        assert_eq!((read(&later).beats, read(&later).moved), (true, vec![false, true]));
        assert_eq!((read(&status_of_two).beats, read(&status_of_two).moved), (false, vec![false, false]));
        assert!(is_doubtful(&read(&status_of_two)) && !is_doubtful(&read(&later)));
    }
}
