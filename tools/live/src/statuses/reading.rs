//! Reads the status files of a directory.

use super::file::{EarlierStatus, Foreign, LeftOut, StatusBounds, shown};
use super::life::{Life, OwnHost};
use super::{Observed, ProgressCounts};
use common::files::Directory;
use common::status::{ENDING, SCHEMA, Status};
use common::visible::visible;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Most files that are read.
const MOST_FILES: usize = 1 << 18;
/// Most listings of a directory. A second one finds nothing new where nobody replaces files meanwhile.
const MOST_LISTINGS: usize = 8;
/// Most threads that read. A network file system answers several at a time.
const MOST_THREADS: usize = 8;

/// The status files of a directory.
#[derive(Debug, Default)]
pub(crate) struct StatusReading {
    /// Processes, in the order of their files' names.
    pub(crate) processes: Vec<Observed>,
    /// Files that are left out: name and cause.
    pub(crate) left_out: Vec<String>,
    /// The line on files of other users, which are left out, too, and say nothing of the job.
    pub(crate) foreign: Option<String>,
}

/// The status files of a directory, read once.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    /// Statuses with the names of their files.
    pub(crate) found: Vec<(String, Status)>,
    /// As [`StatusReading::left_out`].
    pub(crate) left_out: Vec<String>,
    /// As [`StatusReading::foreign`].
    pub(crate) foreign: Option<String>,
}

/// Reads all status files of a directory.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn read(directory: &Path) -> io::Result<Statuses> {
    let mut statuses = Statuses::default();
    let (mut foreign, mut users) = (Vec::new(), BTreeSet::new());
    for (name, status) in all::<Status>(directory)? {
        let cause = match status {
            Ok(status) if status.schema == SCHEMA => {
                statuses.found.push((name, status));
                continue;
            }
            Ok(Status { schema, .. }) if schema.is_empty() => "it is no status file".into(),
            Ok(Status { schema, .. }) => {
                let schema = shown(&schema);
                format!("its form is `{schema}`, and this tool reads `{SCHEMA}`: use the library's tool")
            }
            Err(LeftOut::Gone) => continue,
            Err(LeftOut::Foreign(user)) => {
                foreign.push(name);
                users.insert(user);
                continue;
            }
            Err(LeftOut::Unreadable(cause)) => cause,
        };
        statuses.left_out.push(format!("{name}: {cause}"));
    }
    statuses.foreign = foreign.first().map(|first| of_others(first, foreign.len(), &users));
    Ok(statuses)
}

/// Reads a text of at most `most` bytes, which a process has written beside its status. The text may hold anything.
///
/// # Errors
/// In words: the file cannot be read, or belongs to another user than the job's.
pub(crate) fn read_text(directory: &Path, name: &str, most: u64) -> Result<String, String> {
    if Path::new(name).file_name() != Some(name.as_ref()) {
        return Err("it is not in the directory of the status files".into());
    }
    let bounds = Directory::open(directory).and_then(|directory| StatusBounds::of(&directory));
    let text = bounds.map_err(|error| error.to_string())?.bytes(&directory.join(name), most);
    text.map(|text| String::from_utf8_lossy(&text).into_owned()).map_err(|why| match why {
        LeftOut::Gone => "it is gone".into(),
        LeftOut::Foreign(user) => format!("it belongs to user {user}, and not to you or root"),
        LeftOut::Unreadable(cause) => cause,
    })
}

/// Returns the line on files of other users.
fn of_others(first: &str, count: usize, users: &BTreeSet<u32>) -> String {
    let user = users.first().copied().unwrap_or_default();
    let files = if count == 1 {
        "is left out: it belongs".into()
    } else {
        format!("and {} more are left out: they belong", count - 1)
    };
    let users =
        if users.len() == 1 { format!("user {user}") } else { format!("user {user} and {} others", users.len() - 1) };
    format!(
        "{} {files} to {users}, and not to you or root; only the job's own user, or root, can read a job's state",
        shown(first)
    )
}

/// Reads all status files of a directory twice, `gap` apart. If a process that does not say that it has ended has not
/// written in between, the files are read once more: its host may be busy.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn observe(directory: &Path, gap: Duration) -> io::Result<StatusReading> {
    let begun = Instant::now();
    let before: BTreeMap<String, EarlierStatus> =
        all::<EarlierStatus>(directory)?.into_iter().filter_map(|(name, before)| Some((name, before.ok()?))).collect();
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

/// Compares statuses with earlier ones, and looks up whether their processes live.
pub(super) fn observed(statuses: Statuses, before: &BTreeMap<String, EarlierStatus>) -> StatusReading {
    let Statuses { found, left_out, foreign } = statuses;
    let machine = OwnHost::own();
    let of_file = |(file, status): (String, Status)| {
        let earlier = before.get(&file);
        let moved = status.communicators.iter().map(ProgressCounts::from).map(|counts| {
            // a new process or communicator has moved
            let same = |other: &&ProgressCounts| (&other.comm, other.rank) == (&counts.comm, counts.rank);
            earlier.is_none_or(|earlier| earlier.communicators.iter().find(same) != Some(&counts))
        });
        let moved = moved.collect();
        let beats = earlier.is_none_or(|earlier| earlier.beat != status.beat);
        Observed { life: machine.life(&status), file, status, beats, moved }
    };
    let mut processes: Vec<Observed> = found.into_iter().map(of_file).collect();
    // a process that writes and is not found here lives in a container: the process ids of this host are others
    let is_gone = |process: &Observed| matches!(process.life, Life::Gone | Life::Left);
    if processes.iter().any(|process| is_gone(process) && process.beats && process.status.over.is_none()) {
        let gone = processes.iter_mut().filter(|process| is_gone(process));
        gone.for_each(|process| process.life = Life::Elsewhere);
    }
    StatusReading { processes, left_out, foreign }
}

/// Returns the names and paths of a directory's status files, in the order of names. A listing may lack a file that its
/// process replaces meanwhile (of a tmpfs it does), so the directory is listed until nothing new is found.
fn listed(directory: &Directory) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = BTreeSet::new();
    for _ in 0..MOST_LISTINGS {
        let before = files.len();
        for entry in directory.reach().read_dir()?.take(MOST_FILES) {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(ENDING) && !name.starts_with('.') && files.len() < MOST_FILES {
                files.insert((visible(&name), entry.path()));
            }
        }
        if files.len() == before {
            break;
        }
    }
    Ok(files.into_iter().collect())
}

/// Reads each file of a directory whose name is that of a status file, in the order of names. The directory is opened
/// once; it is no link of another user's.
fn all<T: DeserializeOwned + Foreign + Send>(directory: &Path) -> io::Result<Vec<(String, Result<T, LeftOut>)>> {
    let directory = Directory::open(directory)?;
    let files = listed(&directory)?;
    let reader = &StatusBounds::of(&directory)?;
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    let share = files.len().div_ceil(threads).max(1);
    let read_share = |files: Vec<(String, PathBuf)>| {
        files.into_iter().map(|(name, path)| (name, reader.read(&path))).collect::<Vec<_>>()
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use common::origin::Origin;
    use common::status::StatusCommunicator;
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
        let StatusReading { processes, left_out, .. } = observe(directory.path(), GAP).unwrap();
        assert_eq!(processes.len(), 1);
        assert_eq!(left_out.len(), 4, "{left_out:?}");
        assert!(left_out[0].contains("`scorep-nccl status 9`") && left_out[3].contains("it is no file"));
        assert!(observe(&directory.path().join("missing"), GAP).is_err());
    }

    #[test]
    fn links_are_not_followed_and_texts_command_no_terminal() {
        let directory = tempfile::tempdir().unwrap();
        let origin = Origin { host: Some("a\u{1b}[2J\nb".into()), ..Origin::default() };
        let off = Some("\u{9b}31m".into());
        let communicator = StatusCommunicator { name: "\r".into(), ..StatusCommunicator::default() };
        let communicators = vec![communicator];
        let status = Status { schema: SCHEMA.into(), origin, off, communicators, ..Status::default() };
        write(directory.path(), "a", &status);
        std::os::unix::fs::symlink("a.status.json", directory.path().join("b.status.json")).unwrap();
        write(directory.path(), "c", &Status { schema: "\u{1b}".repeat(1000), ..Status::default() });
        let Statuses { found, left_out, foreign } = read(directory.path()).unwrap();
        assert_eq!((found.len(), foreign), (1, None));
        let status = &found[0].1;
        assert_eq!(status.origin.host.as_deref(), Some("a\\u{1b}[2J\\nb"));
        assert_eq!((status.off.as_deref(), &*status.communicators[0].name), (Some("\\u{9b}31m"), "\\r"));
        assert_eq!(left_out[0], "b.status.json: it is a link, which is not followed");
        assert!(left_out[1].contains("`\\u{1b}") && left_out[1].len() < 400, "{left_out:?}");
    }

    #[test]
    fn the_memory_for_a_file_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: String| fs::write(directory.path().join(format!("{name}{ENDING}")), text).unwrap();
        put("a", "{},".repeat(6 << 20));
        put("b", format!("{{\"later\": [{}]}}", "{},".repeat(1 << 20)));
        put("c", format!("{{\"communicators\": [{}]}}", "{},".repeat(1000)));
        let left_out = read(directory.path()).unwrap().left_out;
        assert_eq!(left_out[0], "a.status.json: it has more than 4 MiB");
        assert_eq!(left_out[1], "b.status.json: it is no status file: it has more than 131072 values");
        assert!(left_out[2].contains("a list has more than 64 entries"), "{left_out:?}");
    }

    #[test]
    fn what_moves_between_two_readings_is_noticed() {
        let communicator = |entered| StatusCommunicator { comm: "1".into(), entered, ..StatusCommunicator::default() };
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
        let before = EarlierStatus {
            beat: 1,
            communicators: status_of_two.communicators.iter().map(ProgressCounts::from).collect(),
        };
        let before = BTreeMap::from([("a".to_owned(), before)]);
        let mut later = status_of_two.clone();
        (later.beat, later.communicators[1].entered) = (2, 6);
        let read = |status: &Status| {
            let found = vec![("a".into(), status.clone())];
            observed(Statuses { found, ..Statuses::default() }, &before).processes.remove(0)
        };
        assert_eq!((read(&later).beats, read(&later).moved), (true, vec![false, true]));
        assert_eq!((read(&status_of_two).beats, read(&status_of_two).moved), (false, vec![false, false]));
        assert!(is_doubtful(&read(&status_of_two)) && !is_doubtful(&read(&later)));
    }
}
