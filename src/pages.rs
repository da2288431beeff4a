//! `scorep-nccl pages`: manual pages and shell completions, generated from the definition of the command line.

use crate::installed::library;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use common::config::SETTINGS;
use std::fs::{create_dir_all, write};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the hidden subcommand.
pub(crate) const COMMAND: &str = "pages";

/// Name of the program on the command line.
const PROGRAM: &str = "scorep-nccl";

/// Directory of the manual pages, below `share`.
const MANUAL: &str = "man/man1";

/// The supported shells, each with its directory below `share` and its file name.
const SHELLS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "scorep-nccl"),
    (Shell::Zsh, "zsh/site-functions", "_scorep-nccl"),
    (Shell::Fish, "fish/vendor_completions.d", "scorep-nccl.fish"),
];

/// Where they go.
#[derive(Debug, clap::Args)]
pub(crate) struct PagesArguments {
    /// Directory for man/man1 and the completions, laid out as below an installation's share.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes the manual pages and the completions of the whole command line.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn run(arguments: &PagesArguments, whole: &Command) -> Result<(), String> {
    let PagesArguments { directory } = arguments;
    write_all(directory, whole)
        .map_err(|error| format!("the pages cannot be written into {}: {error}", directory.display()))
}

fn write_all(directory: &Path, whole: &Command) -> io::Result<()> {
    // no page and no completion for `help`: it only repeats the help texts
    let mut command = visible(whole).disable_help_subcommand(true);
    for (shell, place, name) in SHELLS {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), PROGRAM, &mut script);
        put(directory, place, name, &script)?;
    }
    command.build();
    put(directory, MANUAL, &format!("{PROGRAM}.1"), &page(&command, &[environment(), files()])?)?;
    command.get_subcommands().try_for_each(|subcommand| {
        let name = format!("{PROGRAM}-{}.1", subcommand.get_name());
        put(directory, MANUAL, &name, &page(subcommand, &[see_also()])?)
    })
}

/// Returns the command line without hidden subcommands, which shells would complete otherwise.
fn visible(command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    let about = command.get_about().cloned().unwrap_or_default();
    Command::new(PROGRAM).about(about).version(env!("CARGO_PKG_VERSION")).subcommands(shown.cloned())
}

fn put(directory: &Path, place: &str, name: &str, contents: &[u8]) -> io::Result<()> {
    let place = directory.join(place);
    create_dir_all(&place)?;
    write(place.join(name), contents)
}

/// Renders a manual page; `more` are sections that the command line does not define.
fn page(command: &Command, more: &[Roff]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let page = Man::new(command.clone()).source(PROGRAM).date(env!("CARGO_PKG_VERSION"));
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    more.iter().try_for_each(|section| section.to_writer(&mut text))?;
    Ok(text)
}

/// Returns the section with the settings: one table in the code, which docs/settings.md repeats.
fn environment() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["ENVIRONMENT"]);
    section.text([roman(
        "Read once by the library. A value that is not understood leaves the default in force and gives one line.",
    )]);
    for setting in SETTINGS {
        section.control("TP", []);
        section.text([bold(setting.name)]);
        section.text([roman(setting.meaning), roman(" Default: "), italic(setting.default)]);
    }
    section
}

fn files() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["FILES"]);
    section.control("TP", []);
    section.text([bold(library::FILE)]);
    section.text([roman("The library. Every other name that NCCL and Score-P know it by is a link to it.")]);
    section
}

fn see_also() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["SEE ALSO"]);
    section.text([bold(PROGRAM), roman("(1)")]);
    section
}
