//! Copies the global definitions, and adds those of communicators.
//!
//! A definition is written with the arguments that it was read with: OTF2's callbacks and writing functions have the
//! same. A kind of definition that a release of OTF2 lacks is in no archive that this release can read.

#![allow(non_snake_case, reason = "the kinds have OTF2's names")]

use super::super::abi;
use super::super::archive::{Archive, c_string};
use super::super::error::Otf2Error;
use super::super::library::Otf2Library;
use super::super::reader::ArchiveReader;
use super::communicator::AddedCommunicator;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_char, c_void};

/// Name of the group of all lanes. An archive with a string like this one has been copied before.
pub(crate) const LANES: &str = "NCCL ranks";
/// Name of the lanes' property that is the id of their communicator: OTF2 has no properties of communicators.
const ID: &str = "NCCL communicator";
/// Name of the new groups' paradigm, where the archive does not name it.
const PARADIGM: &str = "NCCL";

/// Paradigms that the new groups may have: OTF2 knows one group of locations for each. CUDA's is that of the lanes, and
/// is taken where Score-P's CUDA adapter is in use: its communicators are of memory copies.
const PARADIGMS: [u8; 3] = [abi::PARADIGM_CUDA, abi::PARADIGM_USER, abi::PARADIGM_UNKNOWN];

/// Numbers that an archive's definitions use.
#[derive(Debug, Default, Clone)]
pub(super) struct DefinitionNumbers {
    strings: u32,
    groups: u32,
    communicators: u32,
    /// Paradigms with a group of locations, and those whose communicators no record names.
    taken: BTreeSet<u8>,
    /// Paradigms with a name and a class.
    defined: BTreeSet<u8>,
}

/// The data of the callbacks.
struct Copying<'a> {
    numbers: DefinitionNumbers,
    /// Where the definitions are written; none, if they are only looked at.
    to: Option<(&'a Writers, *mut abi::GlobalDefinitionWriter)>,
    /// New records of each location.
    added: &'a BTreeMap<u64, u64>,
    library: &'static Otf2Library,
    passed: u64,
    failed: Option<Otf2Error>,
}

/// OTF2's function that sets a callback of type `F`.
type SetCallback<F> = unsafe extern "C" fn(*mut abi::GlobalDefinitionCallbacks, F) -> abi::ErrorCode;

/// Takes a number that is free.
fn next(free: &mut u32, of: &'static str) -> Result<u32, Otf2Error> {
    let number = *free;
    *free = number.checked_add(1).ok_or(Otf2Error::TooMany(of))?;
    Ok(number)
}

/// Returns the first free number after a used one.
fn first_free(number: u32, free: u32) -> u32 {
    free.max(number.saturating_add(1))
}

macro_rules! kinds {
    ($($kind:ident($($argument:ident: $type:ty),*) $(=> |$copying:ident| $note:expr)?;)*) => {
        /// OTF2's function for each kind.
        #[derive(Debug, Default)]
        struct Writers {
            $($kind: Option<unsafe extern "C" fn(*mut abi::GlobalDefinitionWriter, $($type),*) -> abi::ErrorCode>,)*
        }

        impl Writers {
            fn find(library: &Otf2Library) -> Self {
                // SAFETY: the types are those of OTF2 3.
                unsafe {
                    Self {
                        $($kind: library.find(concat!("OTF2_GlobalDefWriter_Write", stringify!($kind))),)*
                    }
                }
            }
        }

        /// Registers the callback of each kind.
        fn register(library: &Otf2Library, callbacks: *mut abi::GlobalDefinitionCallbacks) -> Result<(), Otf2Error> {
            $(
                type $kind = unsafe extern "C" fn(*mut c_void, $($type),*) -> abi::CallbackCode;
                let symbol = concat!("OTF2_GlobalDefReaderCallbacks_Set", stringify!($kind), "Callback");
                // SAFETY: the type is that of OTF2 3.
                let set: Option<SetCallback<$kind>> = unsafe { library.find(symbol) };
                if let Some(set) = set {
                    // SAFETY: the callbacks are OTF2's, and the callback has the type that OTF2 calls it with.
                    library.outcome(symbol, unsafe { set(callbacks, passing::$kind) }, ())?;
                }
            )*
            Ok(())
        }

        mod passing {
            use super::*;

            $(
                /// # Safety
                /// `data` is that of `read`, and lists have as many entries as OTF2 says.
                #[allow(unused_mut, clippy::too_many_arguments, reason = "the arguments are OTF2's")]
                pub(super) unsafe extern "C" fn $kind(
                    data: *mut c_void,
                    $(mut $argument: $type),*
                ) -> abi::CallbackCode {
                    // SAFETY: OTF2 passes the data that `read` registered, while that function waits.
                    let copying = unsafe { &mut *data.cast::<Copying<'_>>() };
                    $(let $copying = &mut *copying; $note;)?
                    copying.passed += 1;
                    if let Some((writers, writer)) = copying.to {
                        let symbol = concat!("OTF2_GlobalDefWriter_Write", stringify!($kind));
                        let written = match writers.$kind {
                            Some(write) => {
                                // SAFETY: the writer is open; the other arguments are OTF2's own.
                                let code = unsafe { write(writer, $($argument),*) };
                                copying.library.outcome(symbol, code, ())
                            }
                            None => Err(Otf2Error::Unknown("definition")),
                        };
                        copying.failed = copying.failed.take().or(written.err());
                    }
                    abi::CALLBACK_SUCCESS
                }
            )*
        }
    };
}

// A value of an attribute or property is a union in C, of numbers of at most 64 bits; here it is passed as its bits.
kinds! {
    ClockProperties(resolution: u64, offset: u64, length: u64, real_time: u64);
    Paradigm(paradigm: u8, name: u32, class: u8) => |copying| copying.numbers.defined.insert(paradigm);
    ParadigmProperty(paradigm: u8, property: u8, kind: u8, value: u64) => |copying| {
        // a boolean's value is its first byte
        if property == abi::PARADIGM_PROPERTY_RMA_ONLY && value.to_ne_bytes()[0] != 0 {
            copying.numbers.taken.insert(paradigm);
        }
    };
    IoParadigm(
        number: u8, identification: u32, name: u32, class: u8, flags: u32, count: u8, properties: *const u8,
        types: *const u8, values: *const u64
    );
    String(number: u32, text: *const c_char)
        => |copying| copying.numbers.strings = first_free(number, copying.numbers.strings);
    Attribute(number: u32, name: u32, description: u32, kind: u8);
    SystemTreeNode(number: u32, name: u32, class: u32, parent: u32);
    LocationGroup(number: u32, name: u32, kind: u8, node: u32, creator: u32);
    Location(number: u64, name: u32, kind: u8, events: u64, group: u32)
        => |copying| events += copying.added.get(&number).copied().unwrap_or(0);
    Region(
        number: u32, name: u32, canonical: u32, description: u32, role: u8, paradigm: u8, flags: u32, file: u32,
        first: u32, last: u32
    );
    Callsite(number: u32, file: u32, line: u32, entered: u32, left: u32);
    Callpath(number: u32, parent: u32, region: u32);
    Group(number: u32, name: u32, kind: u8, paradigm: u8, flags: u32, count: u32, members: *const u64) => |copying| {
        copying.numbers.groups = first_free(number, copying.numbers.groups);
        if kind == abi::GROUP_TYPE_COMM_LOCATIONS {
            copying.numbers.taken.insert(paradigm);
        }
    };
    MetricMember(
        number: u32, name: u32, description: u32, kind: u8, mode: u8, value: u8, base: u8, exponent: i64, unit: u32
    );
    MetricClass(number: u32, count: u8, members: *const u32, occurrence: u8, recorder: u8);
    MetricInstance(number: u32, class: u32, recorder: u64, scope_kind: u8, scope: u64);
    Comm(number: u32, name: u32, group: u32, parent: u32, flags: u32)
        => |copying| copying.numbers.communicators = first_free(number, copying.numbers.communicators);
    Parameter(number: u32, name: u32, kind: u8);
    RmaWin(number: u32, name: u32, communicator: u32, flags: u32);
    MetricClassRecorder(class: u32, recorder: u64);
    SystemTreeNodeProperty(node: u32, name: u32, kind: u8, value: u64);
    SystemTreeNodeDomain(node: u32, domain: u8);
    LocationGroupProperty(group: u32, name: u32, kind: u8, value: u64);
    LocationProperty(location: u64, name: u32, kind: u8, value: u64);
    CartDimension(number: u32, name: u32, size: u32, periodicity: u8);
    CartTopology(number: u32, name: u32, communicator: u32, count: u8, dimensions: *const u32);
    CartCoordinate(topology: u32, rank: u32, count: u8, coordinates: *const u32);
    SourceCodeLocation(number: u32, file: u32, line: u32);
    CallingContext(number: u32, region: u32, place: u32, parent: u32);
    CallingContextProperty(context: u32, name: u32, kind: u8, value: u64);
    InterruptGenerator(number: u32, name: u32, mode: u8, base: u8, exponent: i64, period: u64);
    IoFileProperty(file: u32, name: u32, kind: u8, value: u64);
    IoRegularFile(number: u32, name: u32, scope: u32);
    IoDirectory(number: u32, name: u32, scope: u32);
    IoHandle(number: u32, name: u32, file: u32, paradigm: u8, flags: u32, communicator: u32, parent: u32);
    IoPreCreatedHandleState(handle: u32, mode: u8, status: u32);
    CallpathParameter(path: u32, parameter: u32, kind: u8, value: u64);
    InterComm(number: u32, name: u32, first: u32, second: u32, common: u32, flags: u32)
        => |copying| copying.numbers.communicators = first_free(number, copying.numbers.communicators);
}

/// Reads all definitions with the callbacks; `copying` takes them.
fn read(reader: &ArchiveReader, copying: &mut Copying<'_>) -> Result<(), Otf2Error> {
    let (library, handle) = (copying.library, reader.handle());
    let all = reader.count_definitions()?;
    let mut read = 0;
    // SAFETY: the reader is open; OTF2 copies the callbacks, and passes them `copying` while `read_definitions` runs.
    unsafe {
        let definitions = library.definition_reader(handle)?;
        let callbacks = library.new_definition_callbacks()?;
        let registered = register(library, callbacks).and_then(|()| {
            let data = (&raw mut *copying).cast::<c_void>();
            library.register_definition_callbacks(handle, definitions, callbacks, data)
        });
        library.delete_definition_callbacks(callbacks);
        registered?;
        library.read_definitions(handle, definitions, &raw mut read)?;
        library.close_definition_reader(handle, definitions)?;
    }
    match copying.failed.take() {
        Some(failed) => Err(failed),
        None if copying.passed != all => Err(Otf2Error::Unknown("definition")),
        None => Ok(()),
    }
}

impl DefinitionNumbers {
    /// Reads the numbers that the definitions of an archive leave free.
    pub(super) fn read(reader: &ArchiveReader) -> Result<Self, Otf2Error> {
        let (library, added) = (reader.library(), &BTreeMap::new());
        let numbers = Self::default();
        let mut copying = Copying { numbers, to: None, added, library, passed: 0, failed: None };
        read(reader, &mut copying)?;
        Ok(copying.numbers)
    }

    /// Returns the number of a new communicator.
    pub(super) fn communicator(&self, place: usize) -> u32 {
        u32::try_from(place).unwrap_or(u32::MAX).saturating_add(self.communicators)
    }

    /// Writes the definitions of an archive, then the new ones. `added` is the number of new records of
    /// each location.
    pub(super) fn write(
        &self,
        reader: &ArchiveReader,
        archive: &Archive,
        added: &BTreeMap<u64, u64>,
        communicators: &[AddedCommunicator],
    ) -> Result<(), Otf2Error> {
        let library = archive.library;
        let writers = Writers::find(library);
        // SAFETY: the archive is open.
        let writer = unsafe { library.definition_writer(archive.handle) }?;
        let to = Some((&writers, writer));
        read(reader, &mut Copying { numbers: Self::default(), to, added, library, passed: 0, failed: None })?;
        self.add(library, writer, communicators)?;
        // SAFETY: the writer is open, belongs to this archive, and is not used again.
        unsafe { library.close_definition_writer(archive.handle, writer) }
    }

    fn add(
        &self,
        library: &Otf2Library,
        writer: *mut abi::GlobalDefinitionWriter,
        communicators: &[AddedCommunicator],
    ) -> Result<(), Otf2Error> {
        if communicators.is_empty() {
            return Ok(());
        }
        let Self { strings, groups, communicators: numbers, taken, defined } = self;
        let (mut strings, mut groups, mut numbers) = (*strings, *groups, *numbers);
        let paradigm = PARADIGMS.into_iter().find(|paradigm| !taken.contains(paradigm));
        let paradigm = paradigm.ok_or(Otf2Error::TooMany("groups of locations"))?;
        let mut string = |text: &str| {
            let (number, text) = (next(&mut strings, "strings")?, c_string(text.as_bytes())?);
            // SAFETY: the writer is open; OTF2 copies the string.
            unsafe { library.define_string(writer, number, text.as_ptr()) }.map(|()| number)
        };
        let mut group = |name: u32, kind: u8, members: &[u64]| {
            let number = next(&mut groups, "groups")?;
            let count = u32::try_from(members.len()).map_err(|_| Otf2Error::TooMany("ranks"))?;
            // SAFETY: the writer is open, and `members` has `count` entries.
            unsafe { library.define_ranks(writer, number, name, kind, paradigm, 0, count, members.as_ptr()) }?;
            Ok::<u32, Otf2Error>(number)
        };
        if paradigm == abi::PARADIGM_CUDA && !defined.contains(&paradigm) {
            // SAFETY: the writer is open.
            unsafe { library.define_paradigm(writer, paradigm, string(PARADIGM)?, abi::PARADIGM_CLASS_ACCELERATOR) }?;
        }
        let all: BTreeSet<u64> = communicators.iter().flat_map(|it| it.locations.iter().copied()).collect();
        let all: Vec<u64> = all.into_iter().collect();
        group(string(LANES)?, abi::GROUP_TYPE_COMM_LOCATIONS, &all)?;
        let property = string(ID)?;
        for communicator in communicators {
            let place = |location| all.binary_search(location).map_or(u64::MAX, |place| place as u64);
            let members: Vec<u64> = communicator.locations.iter().map(place).collect();
            let (name, id) = (string(&communicator.name)?, string(&format!("{:016x}", communicator.id))?);
            let (group, number) =
                (group(name, abi::GROUP_TYPE_COMM_GROUP, &members)?, next(&mut numbers, "communicators")?);
            // NCCL does not report from which communicator one was split. A world of OTF2's would have all members, and
            // a rank's locations differ by communicator.
            // SAFETY: the writer is open.
            unsafe { library.define_communicator(writer, number, name, group, abi::UNDEFINED_UINT32, 0) }?;
            for &lane in &communicator.lanes {
                // SAFETY: the writer is open, and a string's value is its number.
                unsafe { library.define_location_property(writer, lane, property, abi::TYPE_STRING, id.into()) }?;
            }
        }
        Ok(())
    }
}
