//! Files that the library and the command-line tool write.
//!
//! A directory may belong to several users, one of them malicious. So names are unpredictable, no link is followed,
//! nothing waits for a FIFO, and a file appears whole or not at all. A growing file appears with its first part. Where
//! several processes of a job use the same file name, none replaces the file of another.

mod appended;
mod begin;
mod destination;
mod directory;
mod growing;
mod hidden;
mod input;
mod left;
mod made;
mod name;
mod new_file;
mod opened;
mod own;
mod pattern;

pub use appended::append;
pub use destination::{begin, is_replaced, write, write_json, write_json_as};
pub(crate) use destination::{write_as, write_line_as};
pub use directory::{Directory, is_own, is_own_user, parent};
pub(crate) use directory::{know_root, open_with};
pub use growing::Growing;
pub use input::input;
pub(crate) use left::remove_all;
pub use made::{make, make_own};
pub use name::{Earlier, FileName};
pub use new_file::NewFile;
pub(crate) use opened::attempted;
pub use own::{open, open_any};
pub use pattern::{HOST, PROCESS, RANK, expand, holds, is_one_for_each_process};

use crate::base::random;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns an unpredictable number.
pub fn random() -> u64 {
    random::of_kernel().unwrap_or_else(|| {
        // less predictable than the process id alone; no caller relies on a name made of it being free
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (since.as_nanos() as u64).rotate_left(20)
            ^ u64::from(std::process::id())
            ^ (&raw const since as u64).rotate_left(40)
    })
}
