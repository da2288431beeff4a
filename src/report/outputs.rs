//! The files of a report, and the tables on the terminal.

use common::files;
use common::report::ROWS;
use present::csv::CsvFile;
use present::output::apart::Output;
use present::output::{self, leftovers, place};
use present::parquet::ParquetFile;
use present::{Chapter, json, page, terminal, write};
use report::answer::Report;
use std::path::{Path, PathBuf};

/// Width of the tables where standard output is no terminal, characters: that of this project's documents.
pub(super) const WIDTH: u16 = 120;

/// Where a report goes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Forms {
    /// Writes the report as one page for browsers.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes the report as JSON; - prints it in place of the tables.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes each table of the report, and the operations, as CSV into this directory.
    #[arg(long, value_name = "DIR")]
    pub(super) csv: Option<PathBuf>,
    /// Writes each table of the report, and the operations, as Parquet into this directory.
    #[arg(long, value_name = "DIR")]
    pub(super) parquet: Option<PathBuf>,
    /// Writes the operations as a trace for Perfetto (ui.perfetto.dev).
    #[arg(long, value_name = "FILE")]
    pub(super) perfetto: Option<PathBuf>,
    /// Prints the tables of all parts.
    #[arg(long, conflicts_with = "part")]
    all: bool,
    /// Prints the tables of these parts.
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',', value_parser = chapters())]
    part: Vec<String>,
    /// Rows of each table.
    #[arg(long, value_name = "N", default_value_t = ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    top: u64,
    /// Whether the answers are printed without their tables.
    #[arg(skip)]
    is_brief: bool,
}

fn chapters() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Chapter::ALL.map(Chapter::name))
}

impl Forms {
    /// The answers on the terminal, without tables, and a page, with rows as by default.
    pub(super) fn page(place: PathBuf) -> Self {
        Self { html: Some(place), top: ROWS, is_brief: true, ..Self::default() }
    }

    /// Rows of each table.
    pub(super) fn rows(&self) -> usize {
        usize::try_from(self.top).unwrap_or(usize::MAX)
    }

    /// Makes the directories of the outputs, and checks that files can be made in them: before the work, not after it.
    ///
    /// # Errors
    /// In words.
    pub(super) fn prepare(&self) -> Result<(), String> {
        let files = [self.html.as_deref(), self.json_file(), self.perfetto.as_deref()];
        let directories = [self.csv.as_deref(), self.parquet.as_deref()];
        let named = ["--html", "--json", "--perfetto"].into_iter().zip(files);
        // tables of both forms may share a directory
        for directory in ["--csv", "--parquet"].into_iter().zip(directories) {
            place::check_apart(&named.clone().chain([directory]).collect::<Vec<_>>())?;
        }
        let prepared = files.into_iter().flatten().try_for_each(place::prepare);
        let mut checked = directories.into_iter().flatten();
        prepared
            .and_then(|()| checked.try_for_each(|directory| place::check_directory(directory, directory)))
            .map_err(|error| error.to_string())
    }

    /// Returns the places that are written to.
    pub(super) fn places(&self) -> impl Iterator<Item = Output<'_>> {
        let files = [self.html.as_deref(), self.json_file(), self.perfetto.as_deref()];
        let directories = [(self.csv.as_deref(), "csv"), (self.parquet.as_deref(), "parquet")];
        let into = directories.into_iter().filter_map(|(place, ending)| Some(Output::Directory(place?, ending)));
        files.into_iter().flatten().map(Output::File).chain(into)
    }

    /// Returns the file for JSON, unless JSON is printed.
    fn json_file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|place| *place != Path::new("-"))
    }

    /// Writes the files, and then prints the tables, or JSON in place of them. The operations' tables and Perfetto's
    /// trace were written before, as the operations came.
    ///
    /// # Errors
    /// In words.
    pub(super) fn write(&self, report: &Report) -> Result<(), String> {
        let text = |text: serde_json::Result<String>| text.map_err(|error| error.to_string());
        if let Some(place) = &self.html {
            write_file(place, page::html(report).as_bytes())?;
        }
        if let Some(place) = self.json_file() {
            write_file(place, text(json::text(report))?.as_bytes())?;
        }
        if let Some(directory) = &self.csv {
            leftovers::undisturbed(|| write::<CsvFile>(report, directory)).map_err(|error| error.to_string())?;
        }
        if let Some(directory) = &self.parquet {
            leftovers::undisturbed(|| write::<ParquetFile>(report, directory)).map_err(|error| error.to_string())?;
        }
        if self.json.is_some() && self.json_file().is_none() {
            return output::json(&text(json::text(report))?);
        }
        output::text(&self.shown(report, output::width().unwrap_or(WIDTH)))
    }

    fn shown(&self, report: &Report, width: u16) -> String {
        let chosen: Vec<Chapter> = match self.all {
            true => Chapter::ALL.to_vec(),
            false => self.part.iter().filter_map(|name| Chapter::of(name)).collect(),
        };
        let rows = if self.is_brief { 0 } else { self.rows() };
        let questions = terminal::tables(report, width.into(), rows);
        questions + &terminal::chapters(report, width.into(), self.rows(), &chosen)
    }
}

/// Writes a file, or leaves the one that is there.
///
/// # Errors
/// Place and cause, in words.
pub(super) fn write_file(place: &Path, content: &[u8]) -> Result<(), String> {
    leftovers::undisturbed(|| files::write(place, content)).map_err(|error| format!("{}: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::sample;
    use std::fs;

    #[test]
    fn all_files_are_written_into_directories_that_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| Some(directory.path().join("new").join(name));
        let arguments = Forms {
            html: place("report.html"),
            json: place("report.json"),
            csv: place("csv"),
            parquet: place("parquet"),
            ..Forms::default()
        };
        arguments.prepare().unwrap();
        arguments.write(&sample(4)).unwrap();
        let html = fs::read_to_string(place("report.html").unwrap()).unwrap();
        assert!(html.starts_with("<!DOCTYPE html>"));
        let json: Report = serde_json::from_str(&fs::read_to_string(place("report.json").unwrap()).unwrap()).unwrap();
        assert_eq!(json.gpus.len(), 4);
        assert!(place("csv/speed.csv").unwrap().is_file() && place("parquet/speed.parquet").unwrap().is_file());
    }

    #[test]
    fn parts_follow_the_questions() {
        let report = sample(4);
        let shown = |all: bool, part: &[&str]| {
            let part = part.iter().map(|&name| name.to_owned()).collect();
            Forms { all, part, top: 20, ..Forms::default() }.shown(&report, 80)
        };
        let questions = shown(false, &[]);
        assert!(questions.contains("┘\n") && !questions.contains("Communicators"));
        let one = shown(false, &["communicators"]);
        assert!(one.starts_with(&questions) && one[questions.len()..].starts_with("\nCommunicators\n"));
        let all = shown(true, &[]);
        for chapter in Chapter::ALL {
            assert!(all.contains(&format!("\n{}\n", chapter.title())), "{chapter:?}");
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_before_the_work() {
        let directory = tempfile::tempdir().unwrap();
        let html = Some(directory.path().to_path_buf());
        let error = Forms { html, ..Forms::default() }.prepare().unwrap_err();
        assert!(error.ends_with("it is a directory: name a file in it"), "{error}");
    }
}
