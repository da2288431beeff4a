//! Commands and options of earlier versions: each is answered in one line that names its successor.

use clap::error::{ContextKind, ContextValue};
use live::watch::command::RELAYS;

/// Commands and options that are gone, each with its successor.
const GONE: [(&str, &str); 4] = [
    ("bench", "`make bench PLUGIN=FILE` compares profiler plugins, in a checkout of the sources"),
    ("--relay", RELAYS),
    ("--library", "this program plays recordings itself; `run`, `env` and `doctor` take the library of a job"),
    ("--captures", "`scorep-nccl replay DIR` and `scorep-nccl report DIR --html FILE` take other recordings"),
];

/// Returns the answer to an error in the command line whose cause is a name that is gone.
pub(crate) fn answer(usage: &clap::Error) -> Option<String> {
    let names = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].map(|kind| usage.get(kind));
    let name = names.into_iter().flatten().find_map(|value| match value {
        ContextValue::String(name) => Some(name.as_str()),
        _ => None,
    })?;
    let (name, instead) = GONE.iter().find(|(gone, _)| *gone == name)?;
    Some(format!("{name} is gone: {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn each_name_is_answered_with_its_successor() {
        let line = |words: &[&str]| {
            let usage = crate::Arguments::try_parse_from([&["scorep-nccl"], words].concat()).unwrap_err();
            answer(&usage).unwrap_or_else(|| usage.to_string())
        };
        let bench = line(&["bench", "--rounds", "2", "plugin.so"]);
        assert!(bench.starts_with("bench is gone: `make bench PLUGIN=FILE`"), "{bench}");
        assert!(line(&["watch", "--relay", "DIR"]).starts_with("--relay is gone: `watch DIR`"));
        assert!(line(&["demo", "--captures=DIR"]).starts_with("--captures is gone: `scorep-nccl replay DIR`"));
        for command in ["replay DIR", "table DIR --to DIR", "report DIR", "demo"] {
            let words: Vec<&str> = command.split(' ').chain(["--library", "FILE"]).collect();
            assert!(line(&words).starts_with("--library is gone: this program plays"), "{command}");
        }
        assert!(line(&["watch", "-"]).contains("it is gone: `watch DIR`"));
        assert!(line(&["watch", "--rely"]).contains("unexpected argument '--rely'"));
    }
}
