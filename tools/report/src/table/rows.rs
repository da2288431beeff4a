//! Reads the rows of a file, one after the other.

use super::source::TableFile;
use super::writer::physical;
use super::{COLUMNS, Column, Form};
use crate::job::{RankOperation, Unreadable};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::SerializedPageReader;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// Rows that are decoded at a time.
const BATCH: usize = 128;

/// The rows of a file. After an error there are no more.
pub struct FileRows {
    name: String,
    source: Arc<TableFile>,
    /// Number of row groups.
    groups: usize,
    /// Place in the file's schema of each of [`COLUMNS`]; `None` where the file lacks an optional column.
    places: Vec<Option<usize>>,
    /// Number of the next row group.
    group: usize,
    columns: Vec<Decoder>,
    /// Rows of the present row group that are not decoded yet.
    left: usize,
    batch: std::vec::IntoIter<RankOperation>,
}

impl FileRows {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be opened, is no Parquet file or a damaged one, or lacks a column.
    pub fn open(path: &Path) -> Result<Self, Unreadable> {
        let name = path.display().to_string();
        let (source, metadata) = footer(path)?;
        let schema = metadata.file_metadata().schema_descr();
        let mut places = Vec::new();
        for column in COLUMNS {
            let place = schema.columns().iter().position(|it| it.path().string() == column.name);
            let is_right = place.and_then(|place| schema.columns().get(place)).map_or(column.is_optional, |it| {
                it.physical_type() == physical(column.form) && it.max_rep_level() == 0 && it.max_def_level() <= 1
            });
            if !is_right {
                let cause = if place.is_some() { "has another type" } else { "is missing" };
                return Err(Unreadable::whole(name, cause).at(format!("column {}", column.name)));
            }
            places.push(place);
        }
        let (source, groups, batch) = (Arc::new(source), metadata.num_row_groups(), Vec::new().into_iter());
        Ok(Self { name, source, groups, places, group: 0, columns: Vec::new(), left: 0, batch })
    }

    /// Decodes the next rows; none at the end.
    fn decode(&mut self) -> Result<Vec<RankOperation>, Unreadable> {
        while self.left == 0 {
            if self.group >= self.groups {
                return Ok(Vec::new());
            }
            self.open_group()?;
        }
        let mut rows = vec![RankOperation::default(); self.left.min(BATCH)];
        for number in 0..self.columns.len() {
            let Some(decoder) = self.columns.get_mut(number) else { break };
            let column = decoder.column;
            decoder.read(&mut rows).map_err(|cause| self.wrong(column, &cause))?;
        }
        self.left -= rows.len();
        Ok(rows)
    }

    /// Opens the next row group. The footer is read anew each time: that of a long table, or of one with a long summary,
    /// takes more memory than the pages.
    fn open_group(&mut self) -> Result<(), Unreadable> {
        let metadata = parsed(&self.source, &self.name)?;
        self.group += 1;
        self.columns.clear();
        let Some(group) = metadata.row_groups().get(self.group - 1) else { return Ok(()) };
        self.left = usize::try_from(group.num_rows()).unwrap_or_default();
        for (column, place) in COLUMNS.iter().zip(&self.places) {
            let Some(place) = *place else { continue };
            let decoder = Decoder::open(column, place, &self.source, group);
            self.columns.push(decoder.map_err(|cause| self.wrong(column, &cause))?);
        }
        Ok(())
    }

    fn wrong(&self, column: &Column, cause: &dyn Display) -> Unreadable {
        let place = format!("row group {}, column {}", self.group, column.name);
        Unreadable::whole(&self.name, cause).at(place)
    }
}

impl Iterator for FileRows {
    type Item = Result<RankOperation, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.batch.next() {
            return Some(Ok(row));
        }
        match self.decode() {
            Ok(rows) => self.batch = rows.into_iter(),
            Err(error) => {
                (self.left, self.group) = (0, usize::MAX);
                return Some(Err(error));
            }
        }
        self.batch.next().map(Ok)
    }
}

/// Opens a file and reads its footer.
pub(super) fn footer(path: &Path) -> Result<(TableFile, ParquetMetaData), Unreadable> {
    let name = path.display().to_string();
    let source = TableFile::open(path).map_err(|error| Unreadable::whole(path, error))?;
    let metadata = parsed(&source, &name)?;
    Ok((source, metadata))
}

/// Reads the footer of an open file.
fn parsed(source: &TableFile, name: &str) -> Result<ParquetMetaData, Unreadable> {
    let wrong = |error| Unreadable::whole(name, cause(&error)).at("footer");
    ParquetMetaDataReader::new().parse_and_finish(source).map_err(wrong)
}

fn cause(error: &ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::EOF(text) => text.clone(),
        error => error.to_string(),
    }
}

/// The values of a column in a row group.
struct Decoder {
    column: &'static Column,
    reader: ColumnReader,
    is_optional: bool,
    levels: Vec<i16>,
    /// Texts so far with their numbers.
    words: Vec<(ByteArray, i64)>,
}

impl Decoder {
    fn open(
        column: &'static Column,
        place: usize,
        source: &Arc<TableFile>,
        group: &RowGroupMetaData,
    ) -> Result<Self, String> {
        let chunk = group.columns().get(place).ok_or("is missing")?;
        let rows = usize::try_from(group.num_rows()).map_err(|_| "has a negative number of rows")?;
        let pages = SerializedPageReader::new(Arc::clone(source), chunk, rows, None).map_err(|it| cause(&it))?;
        let description = chunk.column_descr_ptr();
        let is_optional = description.max_def_level() > 0;
        let reader = get_column_reader(description, Box::new(pages));
        Ok(Self { column, reader, is_optional, levels: Vec::new(), words: Vec::new() })
    }

    /// Reads the values of these rows.
    fn read(&mut self, rows: &mut [RankOperation]) -> Result<(), String> {
        let Self { column, reader, is_optional, levels, words } = self;
        levels.clear();
        let levels = is_optional.then_some(levels);
        match reader {
            ColumnReader::Int64ColumnReader(reader) => fill(column, rows, reader, levels, |&value| Some(value)),
            ColumnReader::Int32ColumnReader(reader) => fill(column, rows, reader, levels, |&value| Some(value.into())),
            ColumnReader::BoolColumnReader(reader) => fill(column, rows, reader, levels, |&value| Some(value.into())),
            ColumnReader::ByteArrayColumnReader(reader) => {
                fill(column, rows, reader, levels, |text| number(column, text, words))
            }
            _ => Err("has another type".into()),
        }
    }
}

/// Reads values and sets them in the rows.
fn fill<T: DataType>(
    column: &Column,
    rows: &mut [RankOperation],
    reader: &mut ColumnReaderImpl<T>,
    mut levels: Option<&mut Vec<i16>>,
    mut number: impl FnMut(&T::T) -> Option<i64>,
) -> Result<(), String> {
    let mut values = Vec::with_capacity(rows.len());
    let read = reader.read_records(rows.len(), levels.as_deref_mut(), None, &mut values).map_err(|it| cause(&it))?;
    if read.0 != rows.len() {
        return Err(format!("ends {} rows too early", rows.len() - read.0));
    }
    let mut values = values.iter();
    for (place, row) in rows.iter_mut().enumerate() {
        if levels.as_ref().is_some_and(|levels| levels.get(place) == Some(&0)) {
            if column.is_optional {
                continue;
            }
            return Err("lacks a value".into());
        }
        let value = values.next().ok_or("lacks a value")?;
        let set = number(value).and_then(|number| (column.set)(row, number));
        set.ok_or_else(|| format!("has the value {value}, which it cannot have"))?;
    }
    Ok(())
}

/// Returns the number of a text. Texts of a dictionary are few.
fn number(column: &Column, text: &ByteArray, words: &mut Vec<(ByteArray, i64)>) -> Option<i64> {
    if let Some(&(_, number)) = words.iter().find(|(word, _)| word.data() == text.data()) {
        return Some(number);
    }
    let Form::Text(of_column) = column.form else { return None };
    let number = (of_column.parse)(text.as_utf8().ok()?)?;
    if words.len() < MAX_WORDS {
        words.push((text.clone(), number));
    }
    Some(number)
}

/// Texts of a column whose numbers are kept.
const MAX_WORDS: usize = 64;
