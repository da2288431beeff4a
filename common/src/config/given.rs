//! The settings given to a process: variables of its environment, and below them the lines of a settings file.

use super::file::SettingsFile;
use super::table::{SETTINGS, Settings};
use super::value::is_set;
use crate::base::bell::Bell;
use crate::base::image::containing;
use crate::base::own_thread;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Longest wait for the settings file, once in a process.
const PATIENCE: Duration = Duration::from_secs(2);
/// One of the waits that the longest one is made of, since signals may end any of them.
const A_WAIT: Duration = Duration::from_millis(5);
/// Most waits that signals end.
const INTERRUPTIONS: u32 = 1000;

/// Environment and settings file.
#[derive(Debug)]
pub struct GivenSettings<'a, L> {
    /// Reads the environment.
    pub lookup: L,
    /// The file, if there is one.
    pub file: Option<&'a SettingsFile>,
}

impl<L: Fn(&str) -> Option<OsString>> GivenSettings<'_, L> {
    /// Returns the value of a setting. A variable of the environment takes the place of the file's line, also without a
    /// value: then the default holds.
    pub fn value(&self, name: &str) -> Option<OsString> {
        (self.lookup)(name).or_else(|| Some(self.file?.value(name)?.to_owned()))
    }

    /// Returns file and line in words, if a setting's value is the file's.
    pub fn origin(&self, name: &str) -> Option<String> {
        let file = self.file.filter(|_| (self.lookup)(name).is_none())?;
        Some(format!("{}:{}", file.path.display(), file.number(name)?))
    }

    /// Parses the settings. Returns them, and one line for each value that is wrong, with the file's name and line if
    /// it is the file's.
    pub fn settings(&self) -> (Settings, Vec<String>) {
        let (settings, complaints) = Settings::parse(|name| self.value(name));
        // a complaint begins with the setting's name and `=`
        let placed = |line: String| match line.split_once('=').and_then(|(name, _)| self.origin(name)) {
            Some(origin) => format!("{origin}: {line}"),
            None => line,
        };
        (settings, complaints.into_iter().map(placed).collect())
    }
}

/// Reads the settings of this process. Returns them, and a line for each fault.
pub(super) fn of_process() -> (Settings, Vec<String>) {
    let (file, unread) = match read_aside() {
        Ok(file) => (file, None),
        Err(why) => (None, Some(why)),
    };
    let (settings, mut complaints) = GivenSettings { lookup: variable, file: file.as_ref() }.settings();
    complaints.extend(unread);
    let faults = file.iter().flat_map(|file| &file.faults);
    complaints.extend(faults.map(|fault| format!("{}; {}", fault.what, fault.cure)));
    let is_there = |name: &str| std::env::var_os(name).is_some_and(|value| is_set(&value));
    if let (true, Some(setting)) = (is_raised(), SETTINGS.iter().find(|setting| is_there(setting.name))) {
        complaints.push(format!(
            "this program runs with more rights than its caller, so {} and other settings of the environment have no \
             effect; {} has those of all programs",
            setting.name,
            super::file::SYSTEMS
        ));
    }
    (settings, complaints)
}

/// Reads the settings file on a thread of its own, since a file system may never answer: then the job goes on without the
/// file.
///
/// # Errors
/// Why nothing is known of the file, in words.
fn read_aside() -> Result<Option<SettingsFile>, String> {
    static READ: OnceLock<Option<SettingsFile>> = OnceLock::new();
    // here and not on the other thread, beside which the program may change its environment
    let named = variable(super::file::VARIABLE);
    if super::file::is_off(named.as_ref()) {
        return Ok(None);
    }
    let is_named = named.is_some();
    // its name is looked up here, too: it takes the loader's lock, which this thread may hold
    let library = library();
    // one for each caller, since only one thread may wait for a bell
    let is_read = Arc::new(Bell::new());
    let bell = is_read.clone();
    let read = move || {
        let _ = READ.set(SettingsFile::read(|_| named.clone(), library.as_deref()));
        bell.ring();
    };
    if let Err(error) = own_thread::spawn("scorep-nccl-set", read) {
        if !is_named {
            // there is no thread for anything, as other lines say
            return Ok(None);
        }
        return Err(format!("the settings file is not read, since there is no thread for that ({error})"));
    }
    // the kernel measures the waits, since the program's clocks may go anywhere
    let (mut left, mut interruptions) = (PATIENCE, 0);
    while READ.get().is_none() && !left.is_zero() && interruptions < INTERRUPTIONS {
        match is_read.wait(A_WAIT) {
            true => interruptions += 1,
            false => left = left.saturating_sub(A_WAIT),
        }
    }
    if let Some(file) = READ.get() {
        return Ok(file.clone());
    }
    Err(format!(
        "the settings file is not read, since its file system does not answer within {} s; {}=off leaves it out",
        PATIENCE.as_secs(),
        super::file::VARIABLE
    ))
}

/// Returns a variable of the environment; `None` in a program with more rights than its caller, who chose the environment.
fn variable(name: &str) -> Option<OsString> {
    if is_raised() { None } else { std::env::var_os(name) }
}

/// Returns a variable that is no setting of ours, such as one of OpenTelemetry, if it is valid text.
#[cfg(feature = "otel")]
pub(crate) fn of_environment(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// Returns whether the program has rights that its caller, who chose the environment, has not: of set-uid and set-gid
/// files, and of files with capabilities.
fn is_raised() -> bool {
    // SAFETY: getauxval reads what the kernel has given the process, and touches no other memory.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns the file that this code was loaded from, if it is a library's.
fn library() -> Option<PathBuf> {
    // SAFETY: the address is this library's, which is never unloaded.
    let (_, name) = unsafe { containing(library as *const libc::c_void) }?;
    let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    // a program's name is what its command line says
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::files::random;
    use crate::config::Preset;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_environment_stands_above_the_file_and_the_file_above_the_defaults() {
        let path = std::env::temp_dir().join(format!("scorep-nccl-given-{:016x}", random()));
        let lines =
            "NCCL_SCOREP_PRESET=api\nNCCL_SCOREP_MEMORY_MB=many\nNCCL_SCOREP_SUMMARY=/s\nNCCL_SCOREP_MIN_BYTES=7";
        std::fs::write(&path, lines).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let lookup = |name: &str| match name {
            "NCCL_SCOREP_SETTINGS" => Some(path.clone().into()),
            "NCCL_SCOREP_PRESET" => Some("full".into()),
            "NCCL_SCOREP_SUMMARY" => Some("".into()),
            _ => None,
        };
        let file = SettingsFile::read(lookup, None);
        std::fs::remove_file(&path).unwrap();
        let given = GivenSettings { lookup, file: file.as_ref() };
        let (settings, complaints) = given.settings();
        let expected =
            Settings { settings_file: Some(path.clone()), preset: Preset::Full, min_bytes: 7, ..Settings::default() };
        assert_eq!(settings, expected);
        let begins = format!("{}:2: NCCL_SCOREP_MEMORY_MB=many is not understood", path.display());
        assert!(complaints.len() == 1 && complaints[0].starts_with(&begins), "{complaints:?}");
        let origin = |name| given.origin(name);
        assert_eq!(origin("NCCL_SCOREP_MIN_BYTES"), Some(format!("{}:4", path.display())));
        assert_eq!(["NCCL_SCOREP_PRESET", "NCCL_SCOREP_SUMMARY", "NCCL_SCOREP_MASK"].map(origin), [None, None, None]);
    }

    #[test]
    fn a_program_without_further_rights_reads_its_environment() {
        assert!(!is_raised());
    }
}
