//! Memory from the system that starts as zeros and is committed as it is touched.

#[cfg(not(loom))]
use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

/// Types for which all bytes zero is a valid value, and which need no drop.
///
/// # Safety
/// The implementor guarantees both.
#[cfg(not(loom))]
pub unsafe trait Zeroed: Sync {}

/// In a model, atomics are made one by one.
///
/// # Safety
/// Nothing is required.
#[cfg(loom)]
pub unsafe trait Zeroed: Sync + Default {}

/// A fixed array of `T` that starts as zeros and lives as long as the process.
///
/// It is never unmapped, because NCCL's threads may still enter the library while the process ends. An untouched page
/// costs nothing.
#[derive(Debug)]
pub struct Mapping<T: Zeroed> {
    first: NonNull<T>,
    length: usize,
}

// SAFETY: a Mapping is a `&'static [T]` in disguise, and T is Sync by the trait's bound.
unsafe impl<T: Zeroed> Send for Mapping<T> {}
// SAFETY: as above.
unsafe impl<T: Zeroed> Sync for Mapping<T> {}

impl<T: Zeroed> Mapping<T> {
    /// Reserves room for `length` values.
    ///
    /// # Errors
    /// Fails with the error of mmap, for example when an address space limit (`ulimit -v`) is reached.
    #[cfg(loom)]
    pub fn new(length: usize) -> io::Result<Self> {
        let values: Box<[T]> = (0..length).map(|_| T::default()).collect();
        let first = NonNull::from(Box::leak(values)).cast();
        Ok(Self { first, length })
    }

    /// Reserves room for `length` values.
    ///
    /// # Errors
    /// Fails with the error of mmap, for example when an address space limit (`ulimit -v`) is reached.
    #[cfg(not(loom))]
    pub fn new(length: usize) -> io::Result<Self> {
        let bytes = length.checked_mul(size_of::<T>()).filter(|&bytes| bytes > 0).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { first: reserved(bytes)?.cast(), length })
    }
}

/// Reserves address space, which the system commits as it is touched, also in a program that has locked all memory of
/// its future (`mlockall`): that would commit all of a mapping that may be written to.
///
/// # Errors
/// The system's.
pub(crate) fn reserved(bytes: usize) -> io::Result<NonNull<c_void>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous private mapping touches no memory in use, and the other calls are for it alone.
    unsafe {
        let address = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0);
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // a system that refuses it commits more
        libc::munlock(address, bytes);
        if libc::mprotect(address, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            let error = io::Error::last_os_error();
            libc::munmap(address, bytes);
            return Err(error);
        }
        NonNull::new(address).ok_or(io::ErrorKind::OutOfMemory.into())
    }
}

/// Gives the memory back, because loom makes thousands of mappings in a model.
#[cfg(loom)]
impl<T: Zeroed> Drop for Mapping<T> {
    fn drop(&mut self) {
        let values = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.length);
        // SAFETY: the slice is the one that `new` leaked, and nothing borrows it any more.
        drop(unsafe { Box::from_raw(values) });
    }
}

impl<T: Zeroed> Deref for Mapping<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `first` is page aligned and `length` values long by `new`; zeros are valid values by `Zeroed`; the
        // mapping is never unmapped and never handed out mutably.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

/// Allocates one zeroed `T` that lives as long as the process, in its final place. Returns `None` where there is no
/// memory.
#[cfg(not(loom))]
pub(crate) fn zeroed<T: Zeroed>() -> Option<&'static T> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the size is not 0. The result is NULL or memory that is never given back, and zeros are a valid `T` by
    // `Zeroed`.
    unsafe { alloc_zeroed(Layout::new::<T>()).cast::<T>().as_ref() }
}

#[cfg(loom)]
pub(crate) fn zeroed<T: Zeroed>() -> Option<&'static T> {
    Some(Box::leak(Box::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Word(AtomicU64);
    // SAFETY: an atomic integer is valid as zero and has no drop.
    unsafe impl Zeroed for Word {}

    #[test]
    fn starts_as_zeros_and_keeps_what_is_written() {
        let words = Mapping::<Word>::new(10_000).unwrap();
        assert!(words.iter().all(|word| word.0.load(Ordering::Relaxed) == 0));
        words[9_999].0.store(7, Ordering::Relaxed);
        assert_eq!(words[9_999].0.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn refuses_sizes_that_cannot_be() {
        assert!(Mapping::<Word>::new(0).is_err());
        assert!(Mapping::<Word>::new(usize::MAX).is_err());
        assert!(Mapping::<Word>::new(usize::MAX / 16).is_err());
    }
}
