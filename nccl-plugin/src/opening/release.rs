//! Releases of NCCL: which one calls, and which event types cause trouble in it.

use crate::interface::kind::event;
use common::event::datatype;
use common::image::{base_of, containing};
use common::origin;
use std::ffi::{c_int, c_void};

/// A release in NCCL's numbering: 22907 is 2.29.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub i32);

impl std::fmt::Display for Release {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&origin::dotted(self.0))
    }
}

/// Trouble that a range of releases has with event types.
#[derive(Debug, Clone, Copy)]
pub struct Trouble {
    /// First release with the trouble.
    pub from: Release,
    /// First release without it again.
    pub before: Release,
    /// Event types that cause it.
    pub types: u64,
    /// Environment variable and value that prevent it.
    pub cure: (&'static str, &'static str),
    /// What happens, in words.
    pub what: &'static str,
}

impl Trouble {
    /// Returns whether a release has the trouble.
    pub fn has(&self, release: Release) -> bool {
        self.from <= release && release < self.before
    }

    /// Returns a sentence for the user: what happens with the calling NCCL, and how to prevent it.
    pub fn told(&self, caller: Caller) -> String {
        let (name, value) = self.cure;
        format!("with {caller}, {}. Set {name}={value} to have them", self.what)
    }
}

/// The newest release that was tested. Newer ones are treated like it.
pub const NEWEST_KNOWN: Release = Release(23_203);

/// The first release that counts a rank's sends and receives to itself among the works of a channel. In earlier ones,
/// stamps after such an operation belong to the wrong operations.
const COUNTS_SELF: Release = Release(23_102);

/// Releases that launch broadcasts without reporting them, unless `NCCL_ALLGATHERV_ENABLE=0`.
const SILENT_BROADCASTS: std::ops::RangeInclusive<Release> = Release(22_900)..=NEWEST_KNOWN;

/// Returns whether a release counts a rank's sends and receives to itself.
pub fn counts_self(release: Release) -> bool {
    release >= COUNTS_SELF
}

/// Returns whether a release launches broadcasts without reporting them. `lookup` reads the environment.
pub fn has_silent_broadcasts(release: Release, lookup: impl Fn(&str) -> Option<String>) -> bool {
    SILENT_BROADCASTS.contains(&release.min(NEWEST_KNOWN)) && lookup("NCCL_ALLGATHERV_ENABLE").as_deref() != Some("0")
}

/// All known trouble.
pub const TROUBLES: [Trouble; 1] = [Trouble {
    from: Release(22_900),
    before: Release(23_102),
    types: event::KERNEL_CH,
    cure: ("NCCL_ALLGATHERV_ENABLE", "0"),
    what: "kernel events can hang a job that broadcasts",
}];

/// Notes which releases call, or have called in a recording. NCCL's callbacks have no name for one type of its nccl.h: of
/// a release that is not known here, that may be another one.
pub fn learn_types(releases: impl IntoIterator<Item = Release>) {
    if releases.into_iter().any(|release| release > NEWEST_KNOWN) {
        datatype::doubt_unnamed_type();
    }
}

/// Returns the oldest release that uses a version of the interface, for callers of unknown release.
pub fn of_interface(version: u32) -> Release {
    Release(origin::first_release(version))
}

/// Returns whether a release chooses that version of the interface if a plugin offers all versions: NCCL takes the
/// newest that it knows.
pub fn speaks(release: Release, version: u32) -> bool {
    of_interface(version) <= release && (version >= 7 || release < of_interface(version + 1))
}

/// The NCCL that calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// Its release, or if that is unknown, the oldest release possible.
    pub release: Release,
    /// Whether the release is known.
    pub known: bool,
    /// The version of the interface that it uses.
    pub version: u32,
}

impl Caller {
    /// Identifies the NCCL that passed `logger` and uses that version of the interface. The process may contain another
    /// NCCL, too, so a release that would not choose this version is ignored.
    pub fn of(logger: *const c_void, version: u32) -> Self {
        let found = running(logger).filter(|&release| speaks(release, version));
        Self { release: found.unwrap_or_else(|| of_interface(version)), known: found.is_some(), version }
    }
}

impl std::fmt::Display for Caller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { release, known, version } = self;
        if *known {
            write!(formatter, "NCCL {release}, profiler interface v{version}")
        } else {
            write!(formatter, "NCCL of unknown release, profiler interface v{version}")
        }
    }
}

/// Returns the release of the library that contains `logger`, or else of the NCCL that the program is linked with.
fn running(logger: *const c_void) -> Option<Release> {
    // SAFETY: dlsym with the default handle only searches the loaded libraries.
    let linked = || unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ncclGetVersion".as_ptr()) };
    let function = Some(beside(logger)).filter(|found| !found.is_null()).unwrap_or_else(linked);
    if function.is_null() {
        return None;
    }
    // SAFETY: NCCL's ncclGetVersion has this type in all releases.
    let get_version =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(function) };
    let mut version = 0;
    // SAFETY: NCCL's ncclGetVersion writes one integer.
    let result = unsafe { get_version(&raw mut version) };
    (result == 0 && version > 0).then_some(Release(version))
}

/// Returns whether `address` lies in AMD's RCCL. The stamps of AMD's GPUs have ticks of 10 ns.
pub(crate) fn is_rccl(address: *const c_void) -> bool {
    // SAFETY: the address is NCCL's, which keeps its library loaded.
    let name = unsafe { containing(address) }.and_then(|(_, file)| file.to_str().ok()?.rsplit('/').next());
    name.is_some_and(|name| name.starts_with("librccl"))
}

/// Returns whether two addresses lie in the same library.
pub fn lie_together(one: *const c_void, other: *const c_void) -> bool {
    base_of(one).is_some_and(|one| base_of(other) == Some(one))
}

/// Returns `ncclGetVersion` of the library that contains `address`, or NULL.
fn beside(address: *const c_void) -> *mut c_void {
    // SAFETY: the address is NCCL's, which keeps its library loaded.
    let Some((_, file)) = (unsafe { containing(address) }) else { return std::ptr::null_mut() };
    // SAFETY: with RTLD_NOLOAD nothing is loaded or initialised; the handle is closed below.
    let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the handle is valid; NCCL itself keeps its library loaded.
    unsafe {
        let function = libc::dlsym(library, c"ncclGetVersion".as_ptr());
        libc::dlclose(library);
        function
    }
}

/// Returns the trouble of a release in an environment that `lookup` reads.
pub fn troubles(release: Release, lookup: impl Fn(&str) -> Option<String>) -> impl Iterator<Item = &'static Trouble> {
    let has = move |trouble: &&Trouble| {
        let (name, value) = trouble.cure;
        trouble.has(release) && lookup(name).as_deref() != Some(value)
    };
    TROUBLES.iter().filter(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel_events_trouble(release: i32, enable: Option<&str>) -> bool {
        troubles(Release(release), |_| enable.map(str::to_owned)).any(|trouble| trouble.types & event::KERNEL_CH != 0)
    }

    #[test]
    fn kernel_events_are_trouble_from_2_29_to_before_2_31_2() {
        for (release, trouble) in
            [(22_809, false), (22_902, true), (23_007, true), (23_102, false), (23_203, false), (24_000, false)]
        {
            assert_eq!(kernel_events_trouble(release, None), trouble, "{release}");
            assert_eq!(kernel_events_trouble(release, Some("1")), trouble, "{release}");
            assert!(!kernel_events_trouble(release, Some("0")), "{release}");
        }
    }

    #[test]
    fn a_release_speaks_the_newest_interface_it_knows() {
        for (release, version) in
            [(22_304, 1), (22_505, 2), (22_602, 3), (22_705, 4), (22_809, 5), (23_007, 6), (23_203, 7)]
        {
            let speaks: Vec<u32> = (1..=7).filter(|&version| speaks(Release(release), version)).collect();
            assert_eq!(speaks, [version], "{release}");
        }
    }

    #[test]
    fn a_program_without_nccl_has_no_release() {
        assert_eq!(running(std::ptr::null()), None);
        assert_eq!(running(kernel_events_trouble as *const c_void), None);
        let caller = Caller::of(std::ptr::null(), 6);
        assert_eq!((caller.release, caller.known), (Release(22_900), false));
        assert_eq!(caller.to_string(), "NCCL of unknown release, profiler interface v6");
        let known = Caller { release: Release(22_907), known: true, version: 6 };
        assert_eq!(known.to_string(), "NCCL 2.29.7, profiler interface v6");
    }
}
