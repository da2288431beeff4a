//! Tables as Parquet: one file a table, all columns optional, compressed with Snappy.

use super::sheet::{Sheet, SheetColumn, SheetWriter, Values};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use report::{PartFilePlace, Unwritten};
use std::path::Path;
use std::sync::Arc;
use tempfile::NamedTempFile;

/// A table that is being written as Parquet. Each part becomes a row group.
pub struct ParquetFile {
    /// Dropped before its place, through which it is reached.
    state: ParquetState,
    place: PartFilePlace,
}

/// The columns are known with the first part.
enum ParquetState {
    Begun(NamedTempFile),
    Open(SerializedFileWriter<NamedTempFile>),
    Failed,
}

impl ParquetFile {
    fn group(&mut self, sheet: &Sheet) -> Result<()> {
        let mut file = match std::mem::replace(&mut self.state, ParquetState::Failed) {
            ParquetState::Begun(part) => {
                SerializedFileWriter::new(part, Arc::new(schema(sheet)?), Arc::new(properties()))?
            }
            ParquetState::Open(file) => file,
            ParquetState::Failed => return Err(ParquetError::General("an earlier part could not be written".into())),
        };
        if !sheet.is_empty() {
            let mut group = file.next_row_group()?;
            for column in &sheet.columns {
                let Some(mut writer) = group.next_column()? else { break };
                write_column(writer.untyped(), column)?;
                writer.close()?;
            }
            group.close()?;
        }
        self.state = ParquetState::Open(file);
        Ok(())
    }
}

/// The path of the incomplete file; that of the whole one behind an error.
impl AsRef<Path> for ParquetFile {
    fn as_ref(&self) -> &Path {
        match &self.state {
            ParquetState::Begun(part) => part.path(),
            ParquetState::Open(file) => file.inner().path(),
            ParquetState::Failed => self.place.path(),
        }
    }
}

impl SheetWriter for ParquetFile {
    fn create(directory: &Path, name: &str) -> std::result::Result<Self, Unwritten> {
        let (place, part) = PartFilePlace::begin(directory, format!("{name}.parquet"))?;
        Ok(Self { place, state: ParquetState::Begun(part) })
    }

    fn add(&mut self, sheet: &Sheet) -> std::result::Result<(), Unwritten> {
        self.group(sheet).map_err(|error| self.place.unwritten(error))
    }

    fn close(self) -> std::result::Result<(), Unwritten> {
        let Self { place, state } = self;
        let part = match state {
            ParquetState::Open(file) => file.into_inner(),
            _ => Err(ParquetError::General("it has no columns".into())),
        };
        part.map_err(|error| place.unwritten(error)).and_then(|part| place.appear(part))
    }
}

fn write_column(writer: &mut ColumnWriter<'_>, column: &SheetColumn) -> Result<()> {
    fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
        values.iter().map(|value| value.is_some().into()).collect()
    }
    match (writer, &column.values) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
            let texts: Vec<ByteArray> = values.iter().flatten().map(|text| text.as_str().into()).collect();
            writer.write_batch(&texts, Some(&levels(values)), None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), Values::Integer(values)) => {
            writer.write_batch(&values.iter().flatten().copied().collect::<Vec<_>>(), Some(&levels(values)), None)
        }
        (ColumnWriter::DoubleColumnWriter(writer), Values::Real(values)) => {
            writer.write_batch(&values.iter().flatten().copied().collect::<Vec<_>>(), Some(&levels(values)), None)
        }
        (ColumnWriter::BoolColumnWriter(writer), Values::Flag(values)) => {
            writer.write_batch(&values.iter().flatten().copied().collect::<Vec<_>>(), Some(&levels(values)), None)
        }
        _ => Err(ParquetError::General(format!("column {} had another type in an earlier part", column.name))),
    }?;
    Ok(())
}

fn schema(sheet: &Sheet) -> Result<Type> {
    let field = |column: &SheetColumn| {
        let physical = match column.values {
            Values::Text(_) => Physical::BYTE_ARRAY,
            Values::Integer(_) => Physical::INT64,
            Values::Real(_) => Physical::DOUBLE,
            Values::Flag(_) => Physical::BOOLEAN,
        };
        let field = Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::OPTIONAL);
        let field = match column.values {
            Values::Text(_) => {
                field.with_converted_type(ConvertedType::UTF8).with_logical_type(Some(LogicalType::String))
            }
            _ => field,
        };
        field.build().map(Arc::new)
    };
    let fields = sheet.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    Type::group_type_builder(sheet.name).with_fields(fields).build()
}

fn properties() -> WriterProperties {
    let by = concat!("scorep-nccl version ", env!("CARGO_PKG_VERSION"));
    WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by(by.to_owned()).build()
}
