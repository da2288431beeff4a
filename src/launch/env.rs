//! `scorep-nccl env`: statements for a shell, or the list of all settings.

use super::environment::{self, LaunchChoice};
use super::shell::Shell;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use common::config::SETTINGS;
use present::output;

/// What a person may say.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvArguments {
    #[command(flatten)]
    choice: LaunchChoice,
    /// Whose language to write. Without it that of the shell which calls; all that are like sh read bash's.
    #[arg(long, value_enum)]
    shell: Option<Shell>,
    /// Instead, lists all settings with their defaults and meanings.
    #[arg(long)]
    all: bool,
}

/// Prints the variables that a job needs, for `eval "$(scorep-nccl env)"`, or the list of all settings.
///
/// # Errors
/// When the library is missing, or standard output cannot be written.
pub(crate) fn run(arguments: &EnvArguments) -> Result<(), String> {
    if arguments.all {
        return output::write(format!("{}\n", settings()));
    }
    let shell = arguments.shell.unwrap_or_else(Shell::of_parent);
    let made = environment::of(&arguments.choice, &[], &|name| std::env::var_os(name))?;
    for remark in &made.remarks {
        output::say(remark);
    }
    let lines = made.variables.iter().map(|(name, value)| [shell.export(name, value), b"\n".to_vec()].concat());
    output::write(lines.collect::<Vec<_>>().concat())
}

fn settings() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    if let Some(width) = output::width() {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table.set_header(["setting", "default", "meaning"]);
    for setting in SETTINGS {
        table.add_row([setting.name, setting.default, setting.meaning]);
    }
    // names of settings are copied from the table, so they are never broken
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}
