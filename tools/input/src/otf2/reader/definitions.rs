//! The global definitions of an archive, by number.

use super::super::abi;
use super::super::error::Otf2Error;
use common::moments;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};

/// A process of the archive: a location group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LocationGroup {
    /// Its number.
    pub(crate) number: u32,
    /// Its name, for example `MPI Rank 3`.
    pub(crate) name: String,
    /// Name of the system tree node that it is on: the machine's, or a part of the machine.
    pub(crate) node: String,
}

/// A location: a thread, a GPU's stream, a lane, or a metric's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ArchiveLocation {
    /// Its number.
    pub(crate) number: u64,
    /// Its name.
    pub(crate) name: String,
    /// Whether it is a stream of an accelerator, as lanes are.
    pub(crate) is_stream: bool,
    /// Number of its process.
    pub(crate) group: u32,
    /// Number of its events.
    pub(crate) events: u64,
}

/// The definitions of an archive.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Definitions {
    /// Ticks per second of all times.
    pub(crate) ticks_per_second: u64,
    /// First time of the archive, ticks.
    pub(crate) begin: u64,
    /// Length of the archive, ticks.
    pub(crate) length: u64,
    /// Time of day of `begin`, nanoseconds since 1970; 0 where the archive does not have it.
    pub(crate) real_time: u64,
    /// The processes.
    pub(crate) groups: Vec<LocationGroup>,
    /// The locations.
    pub(crate) locations: Vec<ArchiveLocation>,
    /// Names of the regions, by number.
    pub(crate) regions: HashMap<u32, String>,
    /// Numbers of the attributes, by name.
    pub(crate) attributes: HashMap<String, u32>,
    /// Number and name of the first member of each metric class.
    pub(crate) metrics: HashMap<u32, String>,
    /// Strings, by number.
    pub(crate) strings: HashMap<u32, String>,
}

impl Definitions {
    /// Converts a length in ticks to nanoseconds, rounded down.
    pub(crate) fn length_of(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second)).try_into().unwrap_or(u64::MAX)
    }

    /// Converts ticks to nanoseconds since the archive's begin, rounded down.
    pub(crate) fn nanoseconds(&self, ticks: u64) -> u64 {
        self.length_of(ticks.saturating_sub(self.begin))
    }

    /// Refuses ticks that no clock shows: nobody could take the difference of two times.
    ///
    /// # Errors
    /// They are too late.
    pub(crate) fn check(&self, ticks: u64) -> Result<(), Otf2Error> {
        let time = self.nanoseconds(ticks).max(self.real_time);
        if time <= moments::LATEST { Ok(()) } else { Err(Otf2Error::Late(time)) }
    }
}

/// The definitions as they come: names are numbers of strings that may come later.
#[derive(Debug, Default)]
pub(super) struct Unresolved {
    clock: [u64; 4],
    strings: HashMap<u32, String>,
    nodes: HashMap<u32, (u32, u32)>,
    groups: Vec<(u32, u32, u32)>,
    locations: Vec<(u64, u32, u8, u64, u32)>,
    regions: HashMap<u32, u32>,
    attributes: HashMap<u32, u32>,
    members: HashMap<u32, u32>,
    classes: HashMap<u32, u32>,
}

impl Unresolved {
    /// Puts names in the place of numbers.
    pub(super) fn resolve(self) -> Definitions {
        let Self { clock: [ticks_per_second, begin, length, real_time], strings, .. } = self;
        let text = |number: &u32| strings.get(number).cloned().unwrap_or_default();
        let node = |number: &u32| self.nodes.get(number).map(|(name, _)| text(name)).unwrap_or_default();
        let groups = self.groups.iter();
        let groups =
            groups.map(|(number, name, on)| LocationGroup { number: *number, name: text(name), node: node(on) });
        let locations = self.locations.iter().map(|(number, name, kind, events, group)| ArchiveLocation {
            number: *number,
            name: text(name),
            is_stream: *kind == abi::LOCATION_TYPE_ACCELERATOR_STREAM,
            group: *group,
            events: *events,
        });
        let first = |member: &u32| self.members.get(member).map(text).unwrap_or_default();
        Definitions {
            ticks_per_second: ticks_per_second.max(1),
            begin,
            length,
            real_time: if real_time == abi::UNDEFINED_TIMESTAMP { 0 } else { real_time },
            groups: groups.collect(),
            locations: locations.collect(),
            regions: self.regions.iter().map(|(number, name)| (*number, text(name))).collect(),
            attributes: self.attributes.iter().map(|(number, name)| (text(name), *number)).collect(),
            metrics: self.classes.iter().map(|(number, member)| (*number, first(member))).collect(),
            strings,
        }
    }
}

/// Returns the definitions that a callback's data point to.
///
/// # Safety
/// `data` is the pointer to an [`Unresolved`] that was registered with the callbacks, and nothing else uses it.
unsafe fn unresolved<'a>(data: *mut c_void) -> &'a mut Unresolved {
    // SAFETY: the caller guarantees the pointer.
    unsafe { &mut *data.cast::<Unresolved>() }
}

/// Defines a callback that notes a definition. OTF2 calls it with the data that `ArchiveReader::definitions`
/// registered.
macro_rules! notes {
    ($($(#[$doc:meta])* $name:ident($definitions:ident $(, $argument:ident: $type:ty)*) $body:block)*) => {$(
        $(#[$doc])*
        pub(super) extern "C" fn $name(data: *mut c_void $(, $argument: $type)*) -> abi::CallbackCode {
            // SAFETY: OTF2 passes the data that `ArchiveReader::definitions` registered, while that function waits.
            let $definitions = unsafe { unresolved(data) };
            $body
            abi::CALLBACK_SUCCESS
        }
    )*};
}

notes! {
    clock(definitions, ticks_per_second: u64, begin: u64, length: u64, real_time: u64) {
        definitions.clock = [ticks_per_second, begin, length, real_time];
    }
    node(definitions, number: u32, name: u32, _class: u32, parent: u32) {
        definitions.nodes.insert(number, (name, parent));
    }
    group(definitions, number: u32, name: u32, _kind: u8, node: u32, _creator: u32) {
        definitions.groups.push((number, name, node));
    }
    location(definitions, number: u64, name: u32, kind: u8, events: u64, group: u32) {
        definitions.locations.push((number, name, kind, events, group));
    }
    region(
        definitions, number: u32, name: u32, _canonical: u32, _description: u32, _role: u8, _paradigm: u8, _flags: u32,
        _file: u32, _first: u32, _last: u32
    ) {
        definitions.regions.insert(number, name);
    }
    attribute(definitions, number: u32, name: u32, _description: u32, _kind: u8) {
        definitions.attributes.insert(number, name);
    }
    member(
        definitions, number: u32, name: u32, _description: u32, _kind: u8, _mode: u8, _type: u8, _base: u8,
        _exponent: i64, _unit: u32
    ) {
        definitions.members.insert(number, name);
    }
}

/// # Safety
/// `text` is NULL or a C string; `data` as for the other callbacks.
pub(super) unsafe extern "C" fn string(data: *mut c_void, number: u32, text: *const c_char) -> abi::CallbackCode {
    if !text.is_null() {
        // SAFETY: the caller, OTF2, passes the registered data and a C string.
        let (definitions, text) = unsafe { (unresolved(data), CStr::from_ptr(text)) };
        definitions.strings.insert(number, text.to_string_lossy().into_owned());
    }
    abi::CALLBACK_SUCCESS
}

/// # Safety
/// `members` points to `count` numbers; `data` as for the other callbacks.
pub(super) unsafe extern "C" fn class(
    data: *mut c_void,
    number: u32,
    count: u8,
    members: *const u32,
    _occurrence: u8,
    _recorder: u8,
) -> abi::CallbackCode {
    if count > 0 && !members.is_null() {
        // SAFETY: the caller, OTF2, passes the registered data and a list of `count` numbers.
        let (definitions, first) = unsafe { (unresolved(data), *members) };
        definitions.classes.insert(number, first);
    }
    abi::CALLBACK_SUCCESS
}
