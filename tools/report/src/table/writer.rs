//! Writes the file of a process.

use super::{About, COLUMNS, Column, FILE, Form, GROUP_ROWS, PAGE_ROWS};
use crate::job::RankOperation;
use crate::part_file::{PartFilePlace, Unwritten};
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Returns the directory of a process in a dataset. Bytes of its id other than letters, digits, `-`, `_` and `.` are
/// percent-encoded, as Hive and Spark do it in names of partitions: two ids never have one directory.
pub fn directory(dataset: &Path, id: &str) -> PathBuf {
    let mut name = "process=".to_owned();
    for byte in id.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' => name.push(byte.into()),
            byte => name += &format!("%{byte:02X}"),
        }
    }
    dataset.join(name)
}

/// A file that is being written. It appears under its name once it is whole; dropping the writer removes it.
pub struct TableWriter {
    /// Dropped before its place, through which it is reached.
    part: NamedTempFile,
    place: PartFilePlace,
    file: SerializedFileWriter<File>,
    rows: Vec<RankOperation>,
}

impl TableWriter {
    /// Begins the file of a process in a dataset, in a directory of its own.
    ///
    /// # Errors
    /// The directory or the file cannot be made.
    pub fn create(dataset: &Path, id: &str) -> Result<Self, Unwritten> {
        let (place, part) = PartFilePlace::begin(&directory(dataset, id), FILE.to_owned())?;
        let writer = part
            .reopen()
            .and_then(|file| Ok(SerializedFileWriter::new(file, Arc::new(schema()?), Arc::new(properties()))?));
        let file = writer.map_err(|cause| place.unwritten(cause))?;
        Ok(Self { place, part, file, rows: Vec::new() })
    }

    /// Adds an operation.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, operation: &RankOperation) -> Result<(), Unwritten> {
        self.rows.push(*operation);
        if self.rows.len() >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes the footer and gives the file its name. A file of that name is replaced. Returns the path.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, about: &About) -> Result<PathBuf, Unwritten> {
        self.flush()?;
        let Self { place, part, mut file, .. } = self;
        let written = about.entries().map_err(io::Error::from).and_then(|entries| {
            entries.into_iter().for_each(|entry| file.append_key_value_metadata(entry));
            file.close().map_err(io::Error::from)
        });
        written.map_err(|cause| place.unwritten(cause))?;
        place.appear(part)?;
        Ok(place.path().to_owned())
    }

    /// Writes the rows so far as a row group.
    fn flush(&mut self) -> Result<(), Unwritten> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let written = self.file.next_row_group().and_then(|group| write(group, &self.rows));
        self.rows.clear();
        written.map_err(|error| self.place.unwritten(error))
    }
}

fn write(mut group: SerializedRowGroupWriter<'_, File>, rows: &[RankOperation]) -> Result<(), ParquetError> {
    for column in COLUMNS {
        let Some(mut writer) = group.next_column()? else { break };
        let values = rows.iter().filter_map(column.get);
        let levels: Option<Vec<i16>> =
            column.is_optional.then(|| rows.iter().map(|row| (column.get)(row).is_some().into()).collect());
        let levels = levels.as_deref();
        match writer.untyped() {
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(&values.collect::<Vec<_>>(), levels, None)?;
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                writer.write_batch(&values.map(|value| value as i32).collect::<Vec<_>>(), levels, None)?;
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                writer.write_batch(&values.map(|value| value != 0).collect::<Vec<_>>(), levels, None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let mut texts: FxHashMap<i64, ByteArray> = FxHashMap::default();
                let text = |value| texts.entry(value).or_insert_with(|| shown(column, value)).clone();
                writer.write_batch(&values.map(text).collect::<Vec<_>>(), levels, None)?;
            }
            _ => return Err(ParquetError::General(format!("column {} has no such type", column.name))),
        }
        writer.close()?;
    }
    group.close().map(|_| ())
}

fn shown(column: &Column, value: i64) -> ByteArray {
    match column.form {
        Form::Text(words) => (words.show)(value).into_bytes().into(),
        _ => ByteArray::new(),
    }
}

fn schema() -> Result<Type, ParquetError> {
    let fields: Result<Vec<_>, ParquetError> = COLUMNS
        .iter()
        .map(|column| {
            let physical = physical(column.form);
            let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
            let field = Type::primitive_type_builder(column.name, physical).with_repetition(repetition);
            let field = match column.form {
                Form::Text(_) => {
                    field.with_converted_type(ConvertedType::UTF8).with_logical_type(Some(LogicalType::String))
                }
                _ => field,
            };
            Ok(Arc::new(field.build()?))
        })
        .collect();
    Type::group_type_builder("operation").with_fields(fields?).build()
}

/// Returns the type with which Parquet stores values of a form.
pub(super) fn physical(form: Form) -> Physical {
    match form {
        Form::Long => Physical::INT64,
        Form::Int => Physical::INT32,
        Form::Flag => Physical::BOOLEAN,
        Form::Text(_) => Physical::BYTE_ARRAY,
    }
}

fn properties() -> WriterProperties {
    let all = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_created_by(concat!("scorep-nccl version ", env!("CARGO_PKG_VERSION")).to_owned());
    COLUMNS
        .iter()
        .fold(all, |all, column| {
            let path = ColumnPath::from(column.name);
            match column.form {
                Form::Text(_) => all.set_column_dictionary_enabled(path, true),
                Form::Flag => all.set_column_dictionary_enabled(path, false),
                // neighbours differ by little, and a reader decodes them one after the other
                Form::Long | Form::Int => all
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            }
        })
        .build()
}
