//! A database of SQLite that somebody else has written: it is only read, and reading it has bounds.

use common::clock::nanoseconds;
use common::files;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Instructions of SQLite between two looks at their number.
const PIECE: i32 = 1 << 12;
/// Most such pieces: a kernel takes some 20 instructions, so this is enough for [`super::file::MOST`] of them.
const PIECES: u32 = 1 << 16;
/// Most processor time, nanoseconds. The largest number of kernels takes some seconds.
const TIME: u64 = 60_000_000_000;
/// Most bytes of rows, each row as long as its record: rows may share their pages, so that a small file has any number of
/// long ones, and each is copied before an instruction of SQLite ends.
const BYTES: u64 = 2 << 30;
/// Longest text or row, bytes. Names of kernels have some thousands.
const LONGEST: i32 = 1 << 24;
/// Most memory of SQLite, bytes.
const MEMORY: u64 = 256 << 20;

/// An open database.
pub(super) struct Database {
    connection: Connection,
    /// Whether it has the table of texts.
    has_texts: bool,
    /// Bytes of rows that may still be read.
    left: Cell<u64>,
}

impl Database {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is no database.
    pub(super) fn open(file: &Path) -> Result<Self, String> {
        // SQLite says no more than that it cannot open a file, and waits for a pipe
        let is_file =
            files::input(file).and_then(|file| Ok(file.metadata()?.is_file())).map_err(|error| error.to_string())?;
        if !is_file {
            return Err("it is no regular file".into());
        }
        let place = unchanging(file).map_err(|error| error.to_string())?;
        let open = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(&place, flags)?;
            // expressions of the file may call nothing that does more than compute
            connection.execute_batch(&format!(
                "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA hard_heap_limit = {MEMORY};"
            ))?;
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
            connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
            let (mut left, begun) = (PIECES, nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID));
            let is_over = move || {
                left = left.saturating_sub(1);
                left == 0 || nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(begun) > TIME
            };
            connection.progress_handler(PIECE, Some(is_over))?;
            Ok(connection)
        };
        let mut opened = Self { connection: open().map_err(words)?, has_texts: false, left: Cell::new(BYTES) };
        opened.has_texts = !opened.columns("StringIds")?.is_empty();
        Ok(opened)
    }

    /// Returns the columns of a table; none if there is no such table. A view, which may have no end, is none.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn columns(&self, table: &str) -> Result<Vec<String>, String> {
        let read = || {
            let query = "SELECT info.name FROM sqlite_schema AS made, pragma_table_info(made.name) AS info
                         WHERE made.type = 'table' AND made.name = ?1";
            let mut columns = self.connection.prepare(query)?;
            columns.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()
        };
        read().map_err(words)
    }

    /// Passes each row of a table with the values of some columns. A column that the table does not have is NULL.
    ///
    /// # Errors
    /// The file is damaged, reading it takes too long, or an error of `each`.
    pub(super) fn rows(
        &self,
        table: &str,
        wanted: &[&str],
        mut each: impl FnMut(&Row<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let columns = self.columns(table)?;
        if columns.is_empty() {
            return Ok(());
        }
        let has = |name: &&str| columns.iter().any(|column| column == name);
        let list: Vec<String> =
            wanted.iter().map(|name| if has(name) { format!("\"{name}\"") } else { "NULL".into() }).collect();
        let query = format!("SELECT {} FROM \"{table}\"", list.join(", "));
        let mut statement = self.connection.prepare(&query).map_err(words)?;
        let mut rows = statement.query([]).map_err(words)?;
        while let Some(row) = rows.next().map_err(words)? {
            self.count(row, wanted.len())?;
            each(row)?;
        }
        Ok(())
    }

    /// Returns the text with this number in the table of texts.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn text(&self, number: i64) -> Result<Option<String>, String> {
        if !self.has_texts {
            return Ok(None);
        }
        let mut statement = self.connection.prepare("SELECT value FROM StringIds WHERE id = ?1").map_err(words)?;
        let mut rows = statement.query([number]).map_err(words)?;
        let Some(row) = rows.next().map_err(words)? else { return Ok(None) };
        self.count(row, 1)?;
        Ok(text(row, 0))
    }

    /// Lets so many bytes of rows be read from here on.
    #[cfg(test)]
    pub(super) fn allow(&mut self, bytes: u64) {
        self.left.set(bytes);
    }

    /// Counts the bytes of a row.
    ///
    /// # Errors
    /// There are too many.
    fn count(&self, row: &Row<'_>, columns: usize) -> Result<(), String> {
        let length = |column| match row.get_ref(column) {
            Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes.len() as u64,
            _ => 8,
        };
        let left = self.left.get().checked_sub((0..columns).map(length).sum());
        self.left.set(left.ok_or_else(|| format!("its rows have more than {} GiB", BYTES >> 30))?);
        Ok(())
    }
}

/// Returns the URI of a file that SQLite takes for one that nobody changes: it makes no file beside it, and no lock.
fn unchanging(file: &Path) -> std::io::Result<OsString> {
    let mut uri = b"file://".to_vec();
    for &byte in std::path::absolute(file)?.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").bytes()),
            byte => uri.push(byte),
        }
    }
    uri.extend(b"?immutable=1");
    Ok(OsString::from_vec(uri))
}

/// Returns a row's whole number.
pub(super) fn integer(row: &Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column) {
        Ok(ValueRef::Integer(number)) => Some(number),
        _ => None,
    }
}

/// Returns a row's text.
pub(super) fn text(row: &Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

fn words(error: rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            "it is no SQLite file: `nsys export --type sqlite REPORT.nsys-rep` makes one".into()
        }
        Some(rusqlite::ErrorCode::OperationInterrupted) => "reading it takes too long".into(),
        _ => error.to_string(),
    }
}
