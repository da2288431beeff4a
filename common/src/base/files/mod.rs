//! Files that the library and the tool write. A directory may belong to several users, one of whom means ill: no name can be foretold, no
//! link is followed, nothing waits for a FIFO, and a file appears whole or not at all; one that grows appears with its first part.
//! Where several processes of a job have one name set, none replaces the file of another.

mod destination;
mod directory;
mod growing;
mod left;
mod name;
mod new_file;
mod own;
mod pattern;

pub use destination::{is_replaced, write, write_json, write_json_as};
pub use directory::{make, make_own};
pub use growing::Growing;
pub(crate) use left::remove_all;
pub use name::{Earlier, Name};
pub use new_file::NewFile;
pub use own::open;
pub use pattern::{expand, is_one_for_each_process};

/// A number that nobody can foretell.
pub fn random() -> u64 {
    let mut bytes = [0_u8; 8];
    // SAFETY: getrandom writes at most the length given. It does not wait, and where the system forbids it, it fails.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) } == 8;
    if filled {
        return u64::from_le_bytes(bytes);
    }
    // harder to foretell than the process' number alone: names made of it are never trusted to be free
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() as u64).rotate_left(20) ^ u64::from(std::process::id()) ^ (&raw const bytes as u64).rotate_left(40)
}
