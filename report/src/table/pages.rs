//! The pages of a column, as this project's writer makes them: what a damaged page's header asks for is looked at before
//! Parquet's reader takes memory for it.

use super::source::{Place, TableFile};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};
use std::io::{BufReader, Read};
use std::sync::Arc;

/// Longest page after decompression, bytes. Written pages have at most 2,048 rows.
const LONGEST: u64 = 16 << 20;
/// Bytes of the fields of a page's header that are looked at.
const FIELDS: u64 = 18;
/// Least bytes of a value in a dictionary: texts have their length before them.
const LEAST: usize = 4;

fn wrong(cause: impl Into<String>) -> ParquetError {
    ParquetError::General(cause.into())
}

/// The pages of a column in a row group.
pub(super) struct Pages(SerializedPageReader<Headers>);

impl Pages {
    /// Begins with the first page of a column, by its place in the row group.
    ///
    /// # Errors
    /// The row group has no such column, or the footer is damaged.
    pub(super) fn open(source: &Arc<TableFile>, group: &RowGroupMetaData, place: usize) -> Result<Self> {
        let chunk = group.columns().get(place).ok_or_else(|| wrong("is missing"))?;
        let rows = usize::try_from(group.num_rows()).map_err(|_| wrong("has a negative number of rows"))?;
        SerializedPageReader::new(Arc::new(Headers(Arc::clone(source))), chunk, rows, None).map(Self)
    }
}

/// Refuses what the writer does not write: other encodings, which take memory by numbers in their data, and a dictionary
/// of more values than it has bytes for.
fn checked(page: Page) -> Result<Page> {
    let is_written = match &page {
        Page::DictionaryPage { buf, num_values, encoding, .. } => {
            *encoding == Encoding::PLAIN && *num_values as usize <= buf.len() / LEAST
        }
        Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. } => matches!(
            encoding,
            Encoding::PLAIN | Encoding::RLE | Encoding::RLE_DICTIONARY | Encoding::DELTA_BINARY_PACKED
        ),
    };
    if is_written { Ok(page) } else { Err(wrong("a page is damaged")) }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.0.get_next_page()?.map(checked).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Err(wrong("rows are read one after the other"))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        Err(wrong("rows are read one after the other"))
    }

    /// No column is repeated, so each value is a row.
    fn at_record_boundary(&mut self) -> Result<bool> {
        Ok(true)
    }
}

/// A file in which the headers of pages are looked at before they are read.
struct Headers(Arc<TableFile>);

impl Length for Headers {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Headers {
    type T = BufReader<Place>;

    /// Parquet's reader asks for this at each page's header, where no page is looked at before it is read.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut fields = Vec::new();
        self.0.get_read(start)?.take(FIELDS).read_to_end(&mut fields)?;
        match length(&fields) {
            None => Err(wrong("a page is damaged")),
            Some(length) if length > LONGEST => Err(wrong(format!("a page has {length} bytes"))),
            Some(_) => self.0.get_read(start),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// Returns the length of a page after decompression, from the first bytes of its header in Thrift's compact protocol:
/// three 32-bit fields, of which it is the second, as all writers begin it. `None` for other bytes.
fn length(header: &[u8]) -> Option<u64> {
    /// A 32-bit field with the number behind that of the field before.
    const NEXT: u8 = 0x15;
    let mut bytes = header.iter();
    let mut field = || {
        (*bytes.next()? == NEXT).then_some(())?;
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let byte = *bytes.next()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                break Some(number);
            }
            shift += 7;
        }
    };
    let [_, uncompressed, _] = [field()?, field()?, field()?];
    // zigzag: an odd number is negative
    Some(if uncompressed % 2 == 0 { uncompressed / 2 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_page_is_in_its_header() {
        // data page, 1,000 bytes, 30 compressed
        assert_eq!(length(&[0x15, 0, 0x15, 0xd0, 0x0f, 0x15, 60, 0x2c]), Some(1000));
        assert_eq!(length(&[0x15, 4, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 60]), Some((1 << 31) - 1));
        assert_eq!(length(&[0x15, 4, 0x15, 1, 0x15, 0]), Some(0));
        for other in [&[][..], &[0x15, 0, 0x15], &[0x15, 0, 0x16, 2, 0x15, 2], &[0x15; 1], &[0xff; 18]] {
            assert_eq!(length(other), None);
        }
    }

    #[test]
    fn a_dictionary_has_bytes_for_its_values() {
        let page = |num_values, encoding| Page::DictionaryPage {
            buf: Bytes::from_static(&[0; 40]),
            num_values,
            encoding,
            is_sorted: false,
        };
        assert!(checked(page(10, Encoding::PLAIN)).is_ok());
        assert!(checked(page(11, Encoding::PLAIN)).is_err() && checked(page(1, Encoding::RLE)).is_err());
    }
}
