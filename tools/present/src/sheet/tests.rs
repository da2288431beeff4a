//! Tests of the report's tables: their columns, and that CSV and Parquet give them back.

use super::super::csv::CsvFile;
use super::super::parquet::ParquetFile;
use super::super::{Chapter, json, write};
use super::{Sheet, Values};
use crate::sample::sample;
use crate::tables::sheets;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::RowAccessor;
use report::answer::{Part, Report};
use std::collections::BTreeSet;
use std::fs::File;

fn sheet<'a>(sheets: &'a [Sheet], name: &str) -> &'a Sheet {
    sheets.iter().find(|sheet| sheet.name == name).unwrap()
}

#[test]
fn columns_of_a_table_have_one_length_and_names_of_their_own() {
    let sheets = sheets(&sample(16));
    for sheet in &sheets {
        let names: BTreeSet<&str> = sheet.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), sheet.columns.len(), "{}", sheet.name);
        assert!(sheet.columns.iter().all(|column| column.values.len() == sheet.len()), "{}", sheet.name);
    }
    let names: BTreeSet<&str> = sheets.iter().map(|sheet| sheet.name).collect();
    assert!(Chapter::ALL.iter().all(|chapter| names.contains(chapter.name())), "{names:?}");
    assert_eq!(names.len(), sheets.len());
}

#[test]
fn each_row_of_the_report_is_a_row_of_a_table() {
    let report = sample(16);
    let sheets = sheets(&report);
    // 16 ranks; 57 steps; 16 operations of 2 tensor groups, 8 data groups and the world: 2 + 2 + 8 + 1 kinds
    let rows = [("budget", 16), ("late", 16), ("steps", 57), ("speed", 13), ("communicators", 11), ("dimensions", 3)];
    for (name, rows) in rows {
        assert_eq!(sheet(&sheets, name).len(), rows, "{name}");
    }
    // three windows of 40 bins; two tensor groups with 8 x 7 pairs, eight data groups with 2
    assert_eq!([sheet(&sheets, "phase_bins").len(), sheet(&sheets, "pairs").len()], [120, 128]);
    let first_step = &sheet(&sheets, "steps").columns[0];
    assert_eq!(first_step.values, Values::Integer((0..57).map(Some).collect()));
}

#[test]
fn an_absent_part_has_a_reason_in_place_of_a_table() {
    let mut report = sample(4);
    report.pairs = Part::Absent("no network was used.".into());
    let sheets = sheets(&report);
    assert!(sheets.iter().all(|sheet| sheet.name != "pairs"));
    let values = |text: &str| Values::Text(vec![Some(text.to_owned())]);
    let absent = sheet(&sheets, "absent");
    assert_eq!(
        [&absent.columns[0].values, &absent.columns[1].values],
        [&values("pairs"), &values("no network was used.")]
    );
}

#[test]
fn csv_and_parquet_give_all_rows_back() {
    let report = sample(16);
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("a/b");
    write::<CsvFile>(&report, &place).unwrap();
    write::<ParquetFile>(&report, &place).unwrap();
    for sheet in sheets(&report) {
        let mut text = ::csv::Reader::from_path(place.join(format!("{}.csv", sheet.name))).unwrap();
        let names: Vec<&str> = sheet.columns.iter().map(|column| column.name).collect();
        assert_eq!(text.headers().unwrap().iter().collect::<Vec<_>>(), names);
        assert_eq!(text.records().map(Result::unwrap).count(), sheet.len(), "{}", sheet.name);
        let file = File::open(place.join(format!("{}.parquet", sheet.name))).unwrap();
        let rows = SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap().count();
        assert_eq!(rows, sheet.len(), "{}", sheet.name);
    }
    // all digits of a number come back
    let speed = report.speed.known().unwrap().rows[0].median_us.unwrap();
    let mut text = ::csv::Reader::from_path(place.join("speed.csv")).unwrap();
    let column = text.headers().unwrap().iter().position(|name| name == "median_us").unwrap();
    let first = text.records().next().unwrap().unwrap();
    assert_eq!(first[column].parse::<f64>().unwrap(), speed);
    let file = SerializedFileReader::new(File::open(place.join("speed.parquet")).unwrap()).unwrap();
    assert_eq!(file.get_row_iter(None).unwrap().next().unwrap().unwrap().get_double(column).unwrap(), speed);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = write::<CsvFile>(&sample(4), &file.join("below")).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}/below/complete.csv: ", file.display())), "{error}");
}

#[test]
fn the_json_is_the_report() {
    let text = json::text(&sample(4)).unwrap();
    let read: Report = serde_json::from_str(&text).unwrap();
    assert_eq!((read.schema.as_str(), read.gpus.len()), ("scorep-nccl-report-1", 4));
    assert!(text.ends_with("}\n"));
}
