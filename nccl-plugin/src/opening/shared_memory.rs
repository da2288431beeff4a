//! The machine's shared memory, which NCCL's kernel events need.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes below which NCCL's kernel events can fail (NVIDIA/nccl #2326: seen with 64 MiB, a container's default).
pub const LEAST: u64 = 128 << 20;

/// Returns the size in bytes of the file system mounted there; `None` if there is none.
pub fn size(mounted: &Path) -> Option<u64> {
    let mounted = CString::new(mounted.as_os_str().as_bytes()).ok()?;
    let mut found = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: statvfs reads the path and fills in the structure, for which zeros are valid, too.
    let found = unsafe { (libc::statvfs(mounted.as_ptr(), found.as_mut_ptr()) == 0).then(|| found.assume_init()) }?;
    Some(found.f_blocks.saturating_mul(found.f_frsize))
}
