//! The name under which the files of one process appear, without replacing a file of another process.

use super::begin::{age_of_process, is_earlier};
use super::hidden::{LONGEST, TRIES, hidden};
use super::{Directory, random};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Treatment of a file of the wanted name that was there before this process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// The file is replaced: a person has asked for the name.
    Replaced,
    /// The file stays: this process made the name up.
    Kept,
}

/// A file name of this process. A file of that name that was written since this process began belongs to another
/// process of the same job and stays; this process then adds a random part to its name.
#[derive(Debug)]
pub struct FileName {
    asked: PathBuf,
    place: PathBuf,
    earlier: Earlier,
    /// Identity of the file that this process has put there last.
    own: Option<FileIdentity>,
    /// The name has a random part because a file was there before this process began.
    is_beside_earlier: bool,
}

impl FileName {
    /// Makes the name for files that are wanted at `place`.
    pub fn new(place: &Path, earlier: Earlier) -> Self {
        age_of_process();
        Self { asked: place.to_owned(), place: place.to_owned(), earlier, own: None, is_beside_earlier: false }
    }

    /// Returns where the next file goes, as far as is known.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Returns the path that was asked for.
    pub fn asked(&self) -> &Path {
        &self.asked
    }

    /// Returns whether the file goes to another path than was asked for.
    pub fn is_another(&self) -> bool {
        self.place != self.asked
    }

    /// Returns whether the path differs because a file was there before this process began.
    pub fn is_beside_earlier(&self) -> bool {
        self.is_beside_earlier
    }

    /// Keeps files that were there before this process began, from now on.
    pub fn keep_earlier(&mut self) {
        self.earlier = Earlier::Kept;
    }

    /// Gives a complete file in `directory` this name.
    pub(super) fn give(&mut self, directory: &Directory, file: &OsStr) -> io::Result<()> {
        // without metadata, only a free name is taken
        let mut own = directory.look(file).ok();
        let mut taken = io::ErrorKind::AlreadyExists.into();
        for _ in 0..TRIES {
            match self.give_once(directory, file, &mut own) {
                Ok(()) => {
                    self.own = own.as_ref().map(identity);
                    return Ok(());
                }
                // another process came in between, or the place belongs to another: look again
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }

    fn give_once(&mut self, directory: &Directory, file: &OsStr, own: &mut Option<Metadata>) -> io::Result<()> {
        let name = file_name(&self.place)?;
        let Ok(there) = directory.look(&name) else {
            let given = put_where_free(directory, file, &name);
            if own.is_none() && given.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                self.place = with_random_part(&self.asked);
            }
            return given;
        };
        if self.own == Some(identity(&there)) {
            return directory.rename(file, &name);
        }
        // the processes of a job belong to one user
        let is_of_another = own.as_ref().is_some_and(|own| own.uid() != there.uid());
        if there.is_dir() && !is_of_another {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let is_earlier = is_earlier(&there, directory, file, own);
        let gives_way = !there.is_file() || is_of_another || is_earlier && self.earlier == Earlier::Replaced;
        // nobody removes a directory
        if gives_way && !there.is_dir() && self.take_away(directory, &name, &there).is_ok() {
            return put_where_free(directory, file, &name);
        }
        self.is_beside_earlier = is_earlier;
        self.place = with_random_part(&self.asked);
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Removes the file that was `seen` under a name, and no other: another process that has seen it too may have
    /// replaced it with its own file meanwhile.
    fn take_away(&self, directory: &Directory, name: &OsStr, seen: &Metadata) -> io::Result<()> {
        let aside = hidden(name);
        match directory.rename(name, &aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            moved => moved?,
        }
        if identity(&directory.look(&aside)?) == identity(seen) {
            return directory.remove(&aside);
        }
        let back = put_where_free(directory, &aside, name);
        // the place is taken again: the file gets a name that readers find
        back.or_else(|_| put_where_free(directory, &aside, &file_name(&with_random_part(&self.asked))?))
    }
}

fn file_name(place: &Path) -> io::Result<OsString> {
    Ok(place.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned())
}

/// Identifies a file. The system may reuse an inode number, but then time or length differ.
type FileIdentity = [u64; 5];

fn identity(file: &Metadata) -> FileIdentity {
    [file.dev(), file.ino(), file.mtime().cast_unsigned(), file.mtime_nsec().cast_unsigned(), file.len()]
}

/// Gives a file another name if nothing has it. If that fails, the file keeps its old name.
fn put_where_free(directory: &Directory, file: &OsStr, name: &OsStr) -> io::Result<()> {
    match directory.rename_where_free(file, name) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // network file systems lack this kind of rename, and some lack hard links
        Err(_) => {}
    }
    match directory.link(file, name) {
        Ok(()) => directory.remove(file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if directory.look(name).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => directory.rename(file, name),
    }
}

/// Adds a random part to a name, before the ending that readers look at: `all.json` becomes `all.RANDOM.json`,
/// `HOST.PID.jsonl.gz` becomes `HOST.PID.RANDOM.jsonl.gz`.
pub(super) fn with_random_part(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or(OsStr::new("file")).as_bytes();
    let name = &name[..name.len().min(LONGEST)];
    let last_dot = |name: &[u8]| name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0);
    // readers find files by the whole ending
    let is_double = |dot: usize| &name[dot..] == b".gz" || name.ends_with(b".status.json");
    let dot = last_dot(name).map(|dot| if is_double(dot) { last_dot(&name[..dot]).unwrap_or(dot) } else { dot });
    let (stem, ending) = name.split_at(dot.unwrap_or(name.len()));
    let unique = [stem, format!(".{:08x}", random() as u32).as_bytes(), ending].concat();
    place.with_file_name(OsString::from_vec(unique))
}

#[cfg(test)]
mod tests {
    use super::super::NewFile;
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::sync::Barrier;
    use std::time::{Duration, SystemTime};

    fn directory() -> PathBuf {
        let directory = std::env::temp_dir().join(format!("scorep-nccl-name-{:016x}", random()));
        fs::create_dir(&directory).unwrap();
        directory
    }

    fn put(name: &mut FileName, text: &str) {
        let mut file = NewFile::beside(name.place()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.appear_as(name).unwrap();
    }

    fn texts(directory: &Path) -> Vec<String> {
        let mut texts: Vec<String> =
            directory.read_dir().unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
        texts.sort();
        texts
    }

    fn make_old(place: &Path) {
        let file = fs::File::options().write(true).open(place).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(86_400)).unwrap();
    }

    /// A process that lost its processor between the last write and the look at its age.
    #[test]
    fn an_earlier_file_gives_way_to_a_process_that_was_held_up() {
        let directory = directory();
        let place = directory.join("all.json");
        let begin = SystemTime::now() - age_of_process();
        for (earlier, is_another) in [(Duration::from_millis(500), false), (Duration::ZERO, true)] {
            fs::write(&place, "earlier").unwrap();
            let set = |place: &Path, time| fs::File::options().write(true).open(place).unwrap().set_modified(time);
            set(&place, begin - earlier).unwrap();
            let mut name = FileName::new(&place, Earlier::Replaced);
            let mut file = NewFile::beside(&place).unwrap();
            file.write_all(b"own").unwrap();
            file.flush().unwrap();
            let hidden = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
            hidden.filter(|path| *path != place).for_each(|path| set(&path, begin - Duration::from_secs(1)).unwrap());
            file.appear_as(&mut name).unwrap();
            assert_eq!(name.is_another(), is_another, "{earlier:?}");
            // the file is known again
            put(&mut name, "own again");
            assert_eq!(texts(&directory).len(), 1 + usize::from(is_another));
            fs::remove_file(name.place()).unwrap();
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn another_process_file_stays_and_an_earlier_one_gives_way() {
        let directory = directory();
        let place = directory.join("all.json");
        let mut first = FileName::new(&place, Earlier::Replaced);
        put(&mut first, "first");
        put(&mut first, "first again");
        assert!(!first.is_another() && texts(&directory) == ["first again"]);
        // like another process of the same time
        let mut second = FileName::new(&place, Earlier::Replaced);
        put(&mut second, "second");
        let name = second.place().file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            second.is_another() && name.starts_with("all.") && name.ends_with(".json") && name.len() == 17,
            "{name}"
        );
        put(&mut second, "second again");
        assert_eq!(texts(&directory), ["first again", "second again"]);
        // a file of an earlier job
        make_old(&place);
        let mut third = FileName::new(&place, Earlier::Kept);
        put(&mut third, "third");
        let mut fourth = FileName::new(&place, Earlier::Replaced);
        put(&mut fourth, "fourth");
        assert!(third.is_another() && third.is_beside_earlier() && !fourth.is_another() && !second.is_beside_earlier());
        assert_eq!(texts(&directory), ["fourth", "second again", "third"]);
        // the first process has lost its name
        put(&mut first, "first at last");
        assert_eq!(texts(&directory), ["first at last", "fourth", "second again", "third"]);
        // a link gives way, whatever its age
        let link = directory.join("link.json");
        std::os::unix::fs::symlink(&place, &link).unwrap();
        let mut fifth = FileName::new(&link, Earlier::Kept);
        put(&mut fifth, "fifth");
        assert!(!fifth.is_another() && texts(&directory).len() == 5 && link.symlink_metadata().unwrap().is_file());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn of_many_at_once_none_is_lost() {
        const MANY: usize = 8;
        let directory = directory();
        for turn in 0..20 {
            let place = directory.join(format!("{turn}")).join("all.json");
            fs::create_dir(place.parent().unwrap()).unwrap();
            fs::write(&place, "old").unwrap();
            make_old(&place);
            let at_once = Barrier::new(MANY);
            std::thread::scope(|scope| {
                for number in 0..MANY {
                    let (place, at_once) = (&place, &at_once);
                    scope.spawn(move || {
                        let mut name = FileName::new(place, Earlier::Replaced);
                        at_once.wait();
                        put(&mut name, &number.to_string());
                    });
                }
            });
            assert_eq!(texts(place.parent().unwrap()), (0..MANY).map(|number| number.to_string()).collect::<Vec<_>>());
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn names_keep_their_endings() {
        let of = |name: &str| with_random_part(Path::new(name)).to_string_lossy().into_owned();
        for (name, start, end) in [
            ("/x/all.json", "/x/all.", ".json"),
            ("host.12.jsonl.gz", "host.12.", ".jsonl.gz"),
            ("all", "all.", ""),
            (".hidden", ".hidden.", ""),
            ("a.gz", "a.", ".gz"),
            ("scorep-nccl.host.12.status.json", "scorep-nccl.host.12.", ".status.json"),
        ] {
            let found = of(name);
            assert!(found.starts_with(start) && found.ends_with(end) && found.len() == name.len() + 9, "{found}");
        }
    }
}
