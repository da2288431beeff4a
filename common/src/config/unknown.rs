//! Names that look like settings and are none: most are misspelt.

use super::table::SETTINGS;
use super::value::is_set;
use crate::base::alike::alike;
use std::fs::File;
use std::io::{BufReader, Read};

/// Beginning of the names of all settings.
const PREFIX: &str = "NCCL_SCOREP_";
/// Variable of tests, in builds that heed it.
const OF_TESTS: Option<&str> = if cfg!(debug_assertions) { Some("NCCL_SCOREP_PANIC") } else { None };
/// The environment with which this process was started. The C library's list may change while it is read.
const ENVIRONMENT: &str = "/proc/self/environ";
/// Longest name that is looked at, bytes.
const LONGEST: usize = 64;
/// Most names in a line, and most that are counted.
const MOST_NAMED: usize = 3;
const MOST: usize = 1000;

/// Settings of earlier versions, each with its successor.
const GONE: [(&str, &str); 1] = [(
    "NCCL_SCOREP_TUNER",
    "the library is no tuner of NCCL any more: name yours in NCCL_TUNER_PLUGIN; the report compares rates with the \
     link's, other communicators' and a baseline's",
)];

/// Returns the successor of a setting that is gone.
#[must_use]
pub fn instead(name: &str) -> Option<&'static str> {
    GONE.iter().find(|(gone, _)| *gone == name).map(|(_, instead)| *instead)
}

/// Returns whether a variable has the name of a setting that there is not.
#[must_use]
pub fn is_unknown(name: &str) -> bool {
    name.starts_with(PREFIX) && OF_TESTS != Some(name) && !SETTINGS.iter().any(|setting| setting.name == name)
}

/// Returns the setting that an unknown name most likely means.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    alike(name, PREFIX, SETTINGS.iter().map(|setting| setting.name)).first().copied()
}

/// Returns a line on the unknown settings that this process was started with, if there are any.
pub(super) fn complaint() -> Option<String> {
    let names = unknown(File::open(ENVIRONMENT).ok()?);
    // the program may have removed it since
    let is_there = |name: &String| std::env::var_os(name).is_some_and(|value| is_set(&value));
    line(&names.into_iter().filter(is_there).collect::<Vec<_>>())
}

/// Returns the unknown names of an environment: entries `NAME=VALUE`, each ended by a zero byte. Values are not kept.
fn unknown(environment: impl Read) -> Vec<String> {
    let mut names = Vec::new();
    let (mut name, mut is_name) = (Vec::new(), true);
    for byte in BufReader::new(environment).bytes().map_while(Result::ok) {
        match byte {
            b'=' if is_name => {
                is_name = false;
                let text = std::str::from_utf8(&name).unwrap_or_default();
                if is_unknown(text) && names.len() < MOST {
                    names.push(text.to_owned());
                }
            }
            0 => {
                name.clear();
                is_name = true;
            }
            _ if is_name && name.len() < LONGEST => name.push(byte),
            _ => {}
        }
    }
    names
}

fn line(names: &[String]) -> Option<String> {
    let none = if names.len() == 1 { "is no setting, and changes" } else { "are no settings, and change" };
    Some(format!("{} {none} nothing; `scorep-nccl env --all` lists the settings", named(names, nearest)?))
}

/// Returns the first names, each with the setting that `near` says is meant, and the number of the others; `None` for
/// no names.
pub(super) fn named(names: &[String], near: impl Fn(&str) -> Option<&'static str>) -> Option<String> {
    let meant = |name: &String| match (instead(name), near(name)) {
        (Some(instead), _) => format!("{name} ({instead})"),
        (None, Some(near)) => format!("{name} ({near} may be meant)"),
        (None, None) => name.clone(),
    };
    let named = names.iter().take(MOST_NAMED).map(meant).collect::<Vec<_>>().join(", ");
    let more = names.len().checked_sub(MOST_NAMED).filter(|&more| more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    (!names.is_empty()).then(|| format!("{named}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_setting_is_recognised() {
        assert_eq!(nearest("NCCL_SCOREP_PRESETS"), Some("NCCL_SCOREP_PRESET"));
        assert_eq!(nearest("NCCL_SCOREP_SUMARY"), Some("NCCL_SCOREP_SUMMARY"));
        assert_eq!(nearest("NCCL_SCOREP_QQ"), None);
    }

    #[test]
    fn names_alone_are_read_of_an_environment() {
        let long = format!("NCCL_SCOREP_{}=1\0", "X".repeat(1 << 20));
        let text = [
            "A=NCCL_SCOREP_A=1\0NCCL_SCOREP_PRESET=api\0NCCL_SCOREP_PRESTE=api=x\0=\0\0NCCL_SCOREP_\0",
            &long,
            "NCCL_SCOREP_Q=",
        ]
        .concat();
        let names = unknown(text.as_bytes());
        assert_eq!(names[0], "NCCL_SCOREP_PRESTE");
        assert_eq!((names.len(), names[1].len(), names[2].as_str()), (3, LONGEST, "NCCL_SCOREP_Q"));
        assert_eq!(unknown(&b"NCCL_SCOREP_\xff=1\0"[..]), Vec::<String>::new());
    }

    #[test]
    fn one_line_names_them() {
        let said = |names: &[&str]| line(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(said(&[]), None);
        let one = said(&["NCCL_SCOREP_PRESTE"]).unwrap();
        assert!(one.starts_with("NCCL_SCOREP_PRESTE (NCCL_SCOREP_PRESET may be meant) is no setting, and"), "{one}");
        let gone = said(&["NCCL_SCOREP_TUNER"]).unwrap();
        assert!(gone.starts_with("NCCL_SCOREP_TUNER (the library is no tuner of NCCL any more: name yours"), "{gone}");
        let many = said(&["NCCL_SCOREP_Q"; 5]).unwrap();
        assert!(many.starts_with("NCCL_SCOREP_Q, NCCL_SCOREP_Q, NCCL_SCOREP_Q and 2 more are no settings"), "{many}");
    }
}
