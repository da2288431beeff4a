//! The settings file: lines `NCCL_SCOREP_NAME=value` that hold for every process that does not set the variable itself.
//!
//! `NCCL_SCOREP_SETTINGS` names it, or else it is `/etc/scorep-nccl.conf`, if that is there. No fault of it ends a job,
//! and no line of it is shown: a name may lead to a file that is none, with contents for nobody else.

use super::table::SETTINGS;
use super::trusted;
use super::unknown::{named, nearest};
use super::value::is_set;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variable that names the file.
pub(super) const VARIABLE: &str = "NCCL_SCOREP_SETTINGS";
/// The file of all processes of a machine, or of a container.
pub(super) const SYSTEMS: &str = "/etc/scorep-nccl.conf";
/// Beginning of the names in the file.
const PREFIX: &[u8] = b"NCCL_SCOREP_";
/// Most numbers of lines that a fault names, and most unknown names that are kept.
const MOST_LINES: usize = 3;
const MOST_NAMES: usize = 1000;

/// What was found in the place of a settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsFile {
    /// Its path.
    pub path: PathBuf,
    /// Whether it is read. A file that is not has no lines, and a fault says why.
    pub is_used: bool,
    /// Its settings, each once.
    lines: Vec<SettingLine>,
    /// Everything wrong with it.
    pub faults: Vec<FileFault>,
}

/// A setting in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SettingLine {
    name: &'static str,
    value: OsString,
    /// Number of the line, from 1.
    number: usize,
}

/// Something wrong with a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// Its kind.
    pub kind: FaultKind,
    /// What is wrong, with the file's path.
    pub what: String,
    /// The way out.
    pub cure: String,
}

/// Kinds of what may be wrong with a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The file is not used.
    Refused,
    /// Lines of the file have no effect.
    Lines,
    /// Names are no settings.
    Unknown,
}

impl SettingsFile {
    /// Reads the file that an environment asks for. `lookup` reads the environment; `library` is the library's file,
    /// whose owner is trusted as root is. `None` if there is no file to read.
    pub fn read(lookup: impl Fn(&str) -> Option<OsString>, library: Option<&Path>) -> Option<Self> {
        let (path, is_named) = place(lookup(VARIABLE))?;
        match trusted::read(&path, library) {
            Ok(content) => Some(Self::parse(path, &content)),
            Err(error) if !is_named && (is_absence(&error) || is_shortage(&error)) => None,
            Err(error) => Some(Self::refused(path, &error)),
        }
    }

    fn refused(path: PathBuf, error: &io::Error) -> Self {
        let fault = FileFault {
            kind: FaultKind::Refused,
            what: format!("{}: this settings file is not used: {error}", path.display()),
            cure: format!("mend that, or set {VARIABLE}=off to have no file"),
        };
        Self { path, faults: vec![fault], ..Self::default() }
    }

    /// Takes the lines of a content. A name that is given twice has the later value.
    fn parse(path: PathBuf, content: &[u8]) -> Self {
        let (mut lines, mut unknown, mut broken, mut repeated) =
            (Vec::<SettingLine>::new(), Vec::new(), vec![], vec![]);
        for (number, line) in content.split(|&byte| byte == b'\n').enumerate().map(|(place, line)| (place + 1, line)) {
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            let Some((name, value)) = pair(line) else {
                broken.push(number);
                continue;
            };
            let Some(name) = SETTINGS.iter().map(|known| known.name).find(|&known| known == name && known != VARIABLE)
            else {
                if unknown.len() < MOST_NAMES {
                    unknown.push(name.to_owned());
                }
                continue;
            };
            if let Some(place) = lines.iter().position(|line| line.name == name) {
                repeated.push(lines.remove(place).number);
            }
            lines.push(SettingLine { name, value: OsStr::from_bytes(value).to_owned(), number });
        }
        let shown = path.display().to_string();
        let fault = |kind, what, cure: &str| FileFault { kind, what, cure: cure.to_owned() };
        let mut faults = Vec::new();
        if let Some(numbers) = numbers(&broken) {
            faults.push(fault(
                FaultKind::Lines,
                format!("{shown}, {numbers}: without effect, since it is not of the form NCCL_SCOREP_NAME=value"),
                "write the value without quotes, variables of the shell and `export`, and # before a comment",
            ));
        }
        if let Some(numbers) = numbers(&repeated) {
            let what = format!("{shown}, {numbers}: without effect, since a later line has the same name");
            faults.push(fault(FaultKind::Lines, what, "keep one line of each name"));
        }
        if let Some(names) = named(&unknown, |name| nearest(name).filter(|&near| near != VARIABLE)) {
            let what = format!("{shown}: without effect, since they are no settings of a file: {names}");
            faults.push(fault(FaultKind::Unknown, what, "`scorep-nccl env --all` lists the settings"));
        }
        Self { path, is_used: true, lines, faults }
    }

    /// Returns the value that the file has for a setting; `None` if it has no line, or one without a value.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.line(name).map(|line| line.value.as_os_str()).filter(|value| is_set(value))
    }

    /// Returns the number of a setting's line, from 1.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.line(name).map(|line| line.number)
    }

    fn line(&self, name: &str) -> Option<&SettingLine> {
        self.lines.iter().find(|line| line.name == name)
    }
}

/// Returns the file's path, and whether the environment names it; `None` if the variable says that there is none.
fn place(variable: Option<OsString>) -> Option<(PathBuf, bool)> {
    match variable {
        None => Some((SYSTEMS.into(), false)),
        Some(named) if !is_set(&named) || named.to_str().is_some_and(|named| named.trim() == "off") => None,
        Some(named) => Some((named.into(), true)),
    }
}

/// Returns whether a variable says that there is no file.
pub(super) fn is_off(variable: Option<&OsString>) -> bool {
    variable.is_some() && place(variable.cloned()).is_none()
}

/// Returns whether an error says that the process may open no file at all: then other lines say so.
fn is_shortage(error: &io::Error) -> bool {
    let known = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOSYS, libc::EPERM];
    error.raw_os_error().is_some_and(|number| known.contains(&number))
}

/// Returns whether an error says that nothing has the name.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns a line without its comment and without blanks around it. A comment begins with `#`, at the line's begin or
/// after a blank.
fn without_comment(line: &[u8]) -> &[u8] {
    let begins = |place: usize| place == 0 || line[place - 1].is_ascii_whitespace();
    let end = (0..line.len()).find(|&place| line[place] == b'#' && begins(place));
    line[..end.unwrap_or(line.len())].trim_ascii()
}

/// Returns name and value of a line. `None` if the line is not of this form, and for a value that the shell would have
/// read otherwise: in quotes, or with `$`.
fn pair(line: &[u8]) -> Option<(&str, &[u8])> {
    let (name, value) = line.split_at(line.iter().position(|&byte| byte == b'=')?);
    let (name, value) = (name.trim_ascii(), value[1..].trim_ascii());
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_odd = |byte: &u8| matches!(byte, b'"' | b'\'' | b'$' | 0);
    let is_pair = name.starts_with(PREFIX) && name.len() < 64 && name.iter().all(is_name) && !value.iter().any(is_odd);
    std::str::from_utf8(name).ok().filter(|_| is_pair).map(|name| (name, value))
}

/// Returns the numbers of lines in words, if there are any.
fn numbers(lines: &[usize]) -> Option<String> {
    let first = lines.iter().take(MOST_LINES).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match lines.len() {
        0 => None,
        1 => Some(format!("line {first}")),
        2..=MOST_LINES => Some(format!("lines {first}")),
        all => Some(format!("lines {first} and {} more", all - MOST_LINES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(content: &[u8]) -> SettingsFile {
        SettingsFile::parse("/f".into(), content)
    }

    fn values(file: &SettingsFile) -> Vec<(usize, &str, &[u8])> {
        file.lines.iter().map(|line| (line.number, line.name, line.value.as_bytes())).collect()
    }

    #[test]
    fn the_environment_chooses_the_file() {
        let of = |text: Option<&str>| place(text.map(Into::into));
        assert_eq!(of(None), Some((SYSTEMS.into(), false)));
        assert_eq!(of(Some("/a b")), Some(("/a b".into(), true)));
        assert_eq!(["", " ", "off "].map(|text| of(Some(text))), [None, None, None]);
    }

    #[test]
    fn lines_are_names_and_values() {
        let content =
            b"# all jobs\n\nNCCL_SCOREP_PRESET=api\r\n NCCL_SCOREP_LOG = info  # why\nNCCL_SCOREP_SUMMARY=/a#b/\xff\n\
                        NCCL_SCOREP_STATUS=\n\t#";
        let file = parsed(content);
        let expected: [(usize, &str, &[u8]); 4] = [
            (3, "NCCL_SCOREP_PRESET", b"api"),
            (4, "NCCL_SCOREP_LOG", b"info"),
            (5, "NCCL_SCOREP_SUMMARY", b"/a#b/\xff"),
            (6, "NCCL_SCOREP_STATUS", b""),
        ];
        assert_eq!((values(&file), &file.faults), (expected.into(), &vec![]));
        assert_eq!((file.value("NCCL_SCOREP_PRESET"), file.value("NCCL_SCOREP_STATUS")), (Some("api".as_ref()), None));
        assert_eq!((file.number("NCCL_SCOREP_STATUS"), file.number("NCCL_SCOREP_MASK")), (Some(6), None));
    }

    #[test]
    fn a_line_of_another_form_is_numbered_and_never_shown() {
        let odd = "secret\nexport NCCL_SCOREP_LOG=info\nPATH=/secret\nNCCL_SCOREP_LOG=\"info\"\n\
                   NCCL_SCOREP_SUMMARY=$secret\n\
                   nccl_scorep_log=info\n=\nNCCL_SCOREP_LOG=off\nNCCL_SCOREP_LOG\nNCCL_SCOREP_LOG=\0";
        let file = parsed(odd.as_bytes());
        assert_eq!(values(&file), [(8, "NCCL_SCOREP_LOG", &b"off"[..])]);
        assert_eq!(file.faults.len(), 1);
        let what = &file.faults[0].what;
        assert!(what.starts_with("/f, lines 1, 2, 3 and 6 more: ") && !what.contains("secret"), "{what}");
    }

    #[test]
    fn of_a_name_given_twice_the_later_value_holds_and_no_name_is_invented() {
        let file =
            parsed(b"NCCL_SCOREP_LOG=off\nNCCL_SCOREP_PRESTE=api\nNCCL_SCOREP_LOG=info\nNCCL_SCOREP_SETTINGS=/g");
        assert_eq!(values(&file), [(3, "NCCL_SCOREP_LOG", &b"info"[..])]);
        let whats: Vec<&str> = file.faults.iter().map(|fault| fault.what.as_str()).collect();
        assert!(whats[0].starts_with("/f, line 1: without effect"), "{whats:?}");
        let names = "a file: NCCL_SCOREP_PRESTE (NCCL_SCOREP_PRESET may be meant), NCCL_SCOREP_SETTINGS";
        assert!(whats[1].starts_with("/f: ") && whats[1].ends_with(names), "{whats:?}");
        assert_eq!(
            file.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(),
            [FaultKind::Lines, FaultKind::Unknown]
        );
    }

    #[test]
    fn a_hostile_content_gives_few_words() {
        let content = b"NCCL_SCOREP_X=1\nx\n".repeat(3500);
        let file = parsed(&content);
        assert!(file.lines.is_empty() && file.faults.len() == 2);
        assert!(file.faults.iter().all(|fault| fault.what.len() < 200), "{:?}", file.faults);
    }
}
