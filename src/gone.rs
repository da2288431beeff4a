//! Commands and options of earlier versions: each is answered in one line that names its successor.

use clap::error::{ContextKind, ContextValue};

/// Commands and options that are gone, each with its successor.
const GONE: [(&str, &str); 0] = [];

/// Returns the answer to an error in the command line whose cause is a name that is gone.
pub(crate) fn answer(usage: &clap::Error) -> Option<String> {
    let names = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].map(|kind| usage.get(kind));
    let name = names.into_iter().flatten().find_map(|value| match value {
        ContextValue::String(name) => Some(name.as_str()),
        _ => None,
    })?;
    // an option's name stands with its value
    let name = name.split(['=', ' ']).next().unwrap_or(name);
    let (name, instead) = GONE.iter().find(|(gone, _)| *gone == name)?;
    Some(format!("{name} is gone: {instead}"))
}
