//! The OTF2 library. It is found, opened and resolved when the first archive is written.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::LazyLock;

use super::abi::*;
use super::error::{LibraryError, Otf2Error};
use super::functions::functions;

/// File names by upstream and by Debian, and the names in their development packages. The version is checked when an
/// archive is created.
const NAMES: [&str; 4] = ["libotf2.so.10", "libopen-trace-format2.so.10", "libotf2.so", "libopen-trace-format2.so"];

/// Declares the functions to resolve, and a method for each. Methods of functions that return an error code or a handle
/// return a `Result`.
macro_rules! declare {
    (
        coded { $(
            $coded:ident = $coded_symbol:literal ($($coded_argument:ident: $coded_type:ty),* $(,)?);
        )* }
        handed { $(
            $handed:ident = $handed_symbol:literal ($($handed_argument:ident: $handed_type:ty),* $(,)?) -> $handle:ty;
        )* }
        other { $(
            $other:ident = $other_symbol:literal ($($other_argument:ident: $other_type:ty),* $(,)?) -> $answer:ty;
        )* }
    ) => {
        struct Functions {
            $($coded: unsafe extern "C" fn($($coded_type),*) -> ErrorCode,)*
            $($handed: unsafe extern "C" fn($($handed_type),*) -> *mut $handle,)*
            $($other: unsafe extern "C" fn($($other_type),*) -> $answer,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// The functions of the library must have the types declared in the list.
            unsafe fn resolve(library: &'static str, object: &libloading::Library) -> Result<Self, LibraryError> {
                Ok(Self {
                    // SAFETY: the caller guarantees the types, here and below.
                    $($coded: unsafe { symbol(library, object, $coded_symbol) }?,)*
                    // SAFETY: as above.
                    $($handed: unsafe { symbol(library, object, $handed_symbol) }?,)*
                    // SAFETY: as above.
                    $($other: unsafe { symbol(library, object, $other_symbol) }?,)*
                })
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the lists are OTF2's")]
        impl Otf2Library {
            $(
                #[doc = concat!("Calls `", $coded_symbol, "`.")]
                ///
                /// # Safety
                ///
                /// Handles must be open and belong together, pointers must be valid for what OTF2 reads or writes
                /// there.
                pub(super) unsafe fn $coded(&self, $($coded_argument: $coded_type),*) -> Result<(), Otf2Error> {
                    // SAFETY: the caller guarantees the arguments, `resolve`'s caller the type.
                    let code = unsafe { (self.functions.$coded)($($coded_argument),*) };
                    self.outcome($coded_symbol, code, ())
                }
            )*
            $(
                #[doc = concat!("Calls `", $handed_symbol, "`; never answers null.")]
                ///
                /// # Safety
                ///
                /// Handles must be open and pointers must be valid for what OTF2 reads there.
                pub(super) unsafe fn $handed(
                    &self, $($handed_argument: $handed_type),*
                ) -> Result<*mut $handle, Otf2Error> {
                    // SAFETY: the caller guarantees the arguments, `resolve`'s caller the type.
                    let handle = unsafe { (self.functions.$handed)($($handed_argument),*) };
                    let code = if handle.is_null() { ERROR_INVALID } else { SUCCESS };
                    self.outcome($handed_symbol, code, handle)
                }
            )*
            $(
                #[doc = concat!("Calls `", $other_symbol, "`.")]
                ///
                /// # Safety
                ///
                /// Handles must be OTF2's, and are not used again once they are deleted.
                pub(super) unsafe fn $other(&self, $($other_argument: $other_type),*) -> $answer {
                    // SAFETY: the caller guarantees the arguments, `resolve`'s caller the type.
                    unsafe { (self.functions.$other)($($other_argument),*) }
                }
            )*
        }
    };
}

functions!(declare);

/// The opened library with its functions.
pub(super) struct Otf2Library {
    functions: Functions,
    /// Keeps the library loaded as long as its functions are used.
    object: libloading::Library,
}

// OTF2 has one error handler per process, so the library is opened once, gets its handler once, and stays.
static LIBRARY: LazyLock<Result<Otf2Library, LibraryError>> = LazyLock::new(|| Otf2Library::open(&NAMES));

/// Returns the library; the first call opens it.
pub(super) fn opened() -> Result<&'static Otf2Library, &'static LibraryError> {
    LIBRARY.as_ref()
}

impl Otf2Library {
    /// Opens the first library of the list that can be opened.
    fn open(names: &[&'static str]) -> Result<Self, LibraryError> {
        let mut reasons = Vec::new();
        for &name in names {
            // SAFETY: the names are OTF2's, whose constructors do no harm.
            match unsafe { libloading::Library::new(name) } {
                Ok(object) => return Self::resolve(name, object),
                Err(reason) => reasons.push(reason.to_string()),
            }
        }
        Err(LibraryError::Missing(reasons.join("; ")))
    }

    fn resolve(name: &'static str, object: libloading::Library) -> Result<Self, LibraryError> {
        // SAFETY: the types are those of OTF2 3. `Archive::create` refuses other versions before it calls functions
        // that differ in them.
        let functions = unsafe { Functions::resolve(name, &object) }?;
        let opened = Self { functions, object };
        // SAFETY: `note_error` has the handler's type and lives as long as the process.
        unsafe { opened.set_error_callback(note_error, std::ptr::null_mut()) };
        Ok(opened)
    }

    /// Looks up a function that not every release has.
    ///
    /// # Safety
    ///
    /// `F` must be the function's type.
    pub(super) unsafe fn find<F: Copy>(&self, symbol: &str) -> Option<F> {
        // SAFETY: the caller guarantees the type.
        unsafe { self.object.get::<F>(symbol.as_bytes()) }.ok().map(|function| *function)
    }

    /// Returns `value`, or an error if the call returned a failure or OTF2 reported an error that the call's result
    /// hides.
    pub(super) fn outcome<T>(&self, function: &'static str, code: ErrorCode, value: T) -> Result<T, Otf2Error> {
        // The first reported error is nearest to the cause; the call's result often says only that something failed.
        let reported = REPORTED.replace(SUCCESS);
        let code = if reported == SUCCESS { code } else { reported };
        if code == SUCCESS {
            return Ok(value);
        }
        Err(Otf2Error::Call { function, reason: self.description(code) })
    }

    fn description(&self, code: ErrorCode) -> String {
        // SAFETY: OTF2 accepts every number, and returns a static text of its own, or null.
        unsafe {
            let text = self.describe(code);
            if text.is_null() {
                return format!("error {code}");
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

thread_local! {
    /// The first error that OTF2 has reported on this thread since the end of the last call.
    static REPORTED: Cell<ErrorCode> = const { Cell::new(SUCCESS) };
}

/// OTF2's error handler. It notes the code for [`Otf2Library::outcome`] instead of printing it.
extern "C" fn note_error(
    _data: *mut c_void,
    _file: *const c_char,
    _line: u64,
    _function: *const c_char,
    code: ErrorCode,
    _format: *const c_char,
    _arguments: *mut c_void,
) -> ErrorCode {
    // Negative codes are warnings. `try_with` fails at the end of a thread, when no call will read the code.
    if code > SUCCESS {
        let _ = REPORTED.try_with(|reported| {
            if reported.get() == SUCCESS {
                reported.set(code);
            }
        });
    }
    code
}

/// Looks up a function.
///
/// # Safety
///
/// `F` must be the function's type.
unsafe fn symbol<F: Copy>(
    library: &'static str,
    object: &libloading::Library,
    symbol: &'static str,
) -> Result<F, LibraryError> {
    // SAFETY: the caller guarantees the type.
    match unsafe { object.get::<F>(symbol.as_bytes()) } {
        Ok(function) => Ok(*function),
        Err(_) => Err(LibraryError::Symbol { library, symbol }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both errors name the tried files and the cure.
    #[test]
    fn what_cannot_be_used_is_named() {
        let missing = Otf2Library::open(&["libnone.so.1", "libnone.so"]).err().unwrap().to_string();
        let symbol = Otf2Library::open(&["libnone.so.1", "libc.so.6"]).err().unwrap().to_string();
        assert!(missing.contains("libnone.so.1:") && missing.contains("libnone.so:"), "{missing}");
        assert!(symbol.starts_with("libc.so.6 has no OTF2_"), "{symbol}");
        for text in [missing, symbol] {
            assert!(text.contains("install libotf2-trace-dev (Debian)"), "{text}");
            assert!(text.contains("libotf2.so.10 on LD_LIBRARY_PATH"), "{text}");
        }
    }
}
