//! The stacks of a Python interpreter that is in the process, as its `faulthandler` prints them.
//!
//! `_Py_DumpTracebackThreads` is the function by which `faulthandler.dump_traceback_later` prints all stacks from a
//! thread of its own, without the interpreter's lock. It takes no lock, allocates nothing and changes nothing. It reads
//! frames that other threads may change meanwhile, so it may meet freed memory: it runs in a child ([`super::child`]).

use super::child::{self, ChildEnd};
use crate::base::image;
use crate::base::symbols::of_any;
use crate::base::visible::visible;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::{io, ptr};

/// Longest text of the interpreter, bytes.
const MAX_TEXT: usize = 256 << 10;
/// Versions whose function is known to have the type below and the properties above. 3.9, 3.10 and 3.13 do not export
/// it, and free-threaded builds begin with 3.13.
const VERSIONS: [&str; 2] = ["3.11.", "3.12."];
/// Attempts, where threads change their frames at the moment of the reading.
const TRIES: usize = 3;

type Dump = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void) -> *const c_char;
type Main = unsafe extern "C" fn() -> *mut c_void;
type Asked = unsafe extern "C" fn() -> c_int;
type Version = unsafe extern "C" fn() -> *const c_char;

/// The functions of the interpreter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Python {
    is_initialised: Asked,
    is_finalising: Asked,
    version: Version,
    main: Main,
    /// `None` where it is not exported.
    dump: Option<Dump>,
}

impl Python {
    /// Looks the interpreter up in the libraries that are loaded by now; loads nothing. Waits for a library that
    /// another thread is loading: so the first init calls it, and no thread of the library.
    pub(crate) fn look_up() -> Option<Self> {
        // SAFETY: CPython's functions of these names have these types since 3.7 (`Py_IsFinalizing` since 3.13, with
        // another name before); `stacks` calls the dump of known versions alone. Its last argument, the calling
        // thread's state, may be null.
        let found = unsafe {
            Self {
                is_initialised: of_any(c"Py_IsInitialized")?,
                is_finalising: of_any(c"Py_IsFinalizing").or_else(|| of_any(c"_Py_IsFinalizing"))?,
                version: of_any(c"Py_GetVersion")?,
                main: of_any(c"PyInterpreterState_Main")?,
                dump: of_any(c"_Py_DumpTracebackThreads"),
            }
        };
        pin(found.is_initialised as *mut c_void);
        Some(found)
    }

    /// Returns the interpreter's version.
    ///
    /// # Errors
    /// In words: the interpreter does not run.
    pub(super) fn version(&self) -> Result<String, String> {
        self.check_runs()?;
        // SAFETY: an initialised interpreter has made this text, which ends with a zero and stays.
        let version = unsafe { CStr::from_ptr((self.version)()) }.to_string_lossy();
        Ok(visible(&version.split_ascii_whitespace().collect::<Vec<_>>().join(" ")))
    }

    /// Returns the stacks of all threads, the innermost call first.
    ///
    /// # Errors
    /// In words: the reason why there are none.
    pub(super) fn stacks(&self) -> Result<String, String> {
        let version = self.version()?;
        let dump = self.dump.filter(|_| VERSIONS.iter().any(|known| version.starts_with(known)));
        let dump = dump.ok_or("this version does not offer its stacks to libraries (3.11 and 3.12 do): use py-spy")?;
        let mut last = String::new();
        for _ in 0..TRIES {
            self.check_runs()?;
            let mut text = vec![0; MAX_TEXT];
            let mut reading =
                Reading { dump, main: self.main, text: &mut text, length: 0, refused: ptr::null(), error: 0 };
            // SAFETY: `read` is sound in a child, except for faults in the interpreter's memory, which end the child.
            // The thread that does requests is the only one that calls this.
            let ended = unsafe { child::run(read, (&raw mut reading).cast()) };
            let Reading { length, refused, error, .. } = reading;
            last = match ended {
                Err(error) => return Err(format!("no child process to read the stacks in: {error}")),
                Ok(ChildEnd::TimedOut) => return Err("the reading of the stacks took longer than 2 s".into()),
                Ok(ChildEnd::Fault(signal)) => {
                    format!("threads changed their stacks during each attempt (signal {signal})")
                }
                Ok(ChildEnd::Done) if error != 0 => {
                    return Err(format!("no memory for the stacks: {}", io::Error::from_raw_os_error(error)));
                }
                Ok(ChildEnd::Done) if !refused.is_null() => {
                    // SAFETY: CPython returns a text of its own, which ends with a zero and stays.
                    return Err(visible(&unsafe { CStr::from_ptr(refused) }.to_string_lossy()));
                }
                Ok(ChildEnd::Done) => {
                    text.truncate(length);
                    return Ok(String::from_utf8_lossy(&text).into_owned());
                }
            };
        }
        Err(last)
    }

    fn check_runs(&self) -> Result<(), String> {
        // SAFETY: both functions read a flag, and may be called at any time and without the interpreter's lock.
        let [initialised, finalising] = unsafe { [(self.is_initialised)(), (self.is_finalising)()] };
        if initialised == 0 || finalising != 0 { Err("Python is ending, or has not begun".into()) } else { Ok(()) }
    }
}

/// Keeps the library of a function loaded, also if the program closes it: its functions are called later.
fn pin(function: *mut c_void) {
    let Some(found) = image::look_up(function).filter(|found| !found.dli_fname.is_null()) else { return };
    // SAFETY: the name is the loader's, of a library that is loaded. With RTLD_NOLOAD nothing is loaded. A function of the
    // program itself needs no pin: that dlopen finds nothing then is no matter.
    unsafe {
        libc::dlopen(found.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
    }
}

/// The task of the child, and its result.
struct Reading<'a> {
    dump: Dump,
    main: Main,
    text: &'a mut [u8],
    length: usize,
    /// The interpreter's reason for reading nothing.
    refused: *const c_char,
    /// Error number of the system.
    error: c_int,
}

/// Has the interpreter print into a file in memory, which no descriptor of the program leads to and which cannot grow
/// beyond the text, and reads it back.
unsafe extern "C" fn read(reading: *mut c_void) {
    // SAFETY: `stacks` passes its reading, which lives as long as the child. The calls are system calls, and the
    // interpreter's, as the module says.
    unsafe {
        let reading = &mut *reading.cast::<Reading<'_>>();
        let file = libc::memfd_create(c"scorep-nccl".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if file < 0
            || libc::ftruncate64(file, MAX_TEXT as i64) != 0
            || libc::fcntl(file, libc::F_ADD_SEALS, libc::F_SEAL_GROW) != 0
        {
            reading.error = *libc::__errno_location();
        } else {
            reading.refused = (reading.dump)(file, (reading.main)(), ptr::null_mut());
            let written = libc::lseek64(file, 0, libc::SEEK_CUR);
            let read = libc::pread64(file, reading.text.as_mut_ptr().cast(), reading.text.len(), 0);
            if read < 0 {
                reading.error = *libc::__errno_location();
            }
            reading.length = written.min(read as i64).max(0) as usize;
        }
        if file >= 0 {
            libc::close(file);
        }
    }
}
