//! The events of NCCL: their types, and the fields of each with the keys that they have in a line. The writer and the
//! reader of lines follow from the one list here.

use super::error::Problem;
use super::field::{hexadecimal, int, int_if_any};
use super::line::{LineFields, TypeName};
use super::strings::{QuotedStrings, Strings, Text};
use common::event::network::NetworkEvent;
use std::io::{self, Write};

/// Writes a field after all others.
macro_rules! write_field {
    (number $out:ident $strings:ident $key:ident $value:ident) => {
        write!($out, concat!(",\"", stringify!($key), "\":{}"), $value)?
    };
    (number_or_0 $($field:ident)*) => { write_field!(number $($field)*) };
    // the user's tag: a line has none that is 0
    (tag $out:ident $strings:ident $key:ident $value:ident) => {
        if $value != 0 {
            write_field!(number $out $strings $key $value)
        }
    };
    (flag $out:ident $strings:ident $key:ident $value:ident) => {
        write!($out, concat!(",\"", stringify!($key), "\":{}"), u8::from($value))?
    };
    (text $out:ident $strings:ident $key:ident $value:ident) => {
        write!($out, concat!(",\"", stringify!($key), "\":{}"), $strings.quoted($value))?
    };
    (address $out:ident $strings:ident $key:ident $value:ident) => {
        write!($out, concat!(",\"", stringify!($key), "\":\"{:x}\""), $value)?
    };
    (address_or_0 $($field:ident)*) => { write_field!(address $($field)*) };
    (variant $out:ident $strings:ident $key:ident $value:ident) => {
        if let Some(variant) = $value {
            write!($out, concat!(",\"", stringify!($key), "\":1,\"variant\":{}"), $strings.quoted(variant))?
        }
    };
    (network $out:ident $strings:ident $key:ident $value:ident) => { write_network($out, $value)? };
}

/// Reads a field.
macro_rules! read_field {
    (number $line:ident $strings:ident $key:ident) => { int(stringify!($key), $line.$key)? };
    (number_or_0 $line:ident $strings:ident $key:ident) => { int_if_any(stringify!($key), $line.$key)?.unwrap_or(0) };
    (tag $($field:ident)*) => { read_field!(number_or_0 $($field)*) };
    (flag $line:ident $strings:ident $key:ident) => { int::<u8>(stringify!($key), $line.$key)? != 0 };
    (text $line:ident $strings:ident $key:ident) => { $strings.keep(stringify!($key), $line.$key.as_ref())? };
    (address $line:ident $strings:ident $key:ident) => { hexadecimal(stringify!($key), $line.$key.as_ref())? };
    (address_or_0 $line:ident $strings:ident $key:ident) => {
        if $line.$key.is_some() { read_field!(address $line $strings $key) } else { 0 }
    };
    (variant $line:ident $strings:ident $key:ident) => {
        if $line.$key.is_some_and(|is_symmetric| is_symmetric.0 != 0) {
            Some(read_field!(text $line $strings variant))
        } else {
            None
        }
    };
    (network $line:ident $strings:ident $key:ident) => { read_network($line)? };
}

/// Makes types, names, writer and reader of a list of events. The place of an event in the list is the number of its
/// type's bit. Fields are in the order of their keys in a line: name, type, and the kind of the key's value
/// (`write_field`, `read_field`).
macro_rules! events {
    ($(
        $(#[$about:meta])*
        $event:ident $({ $($(#[$about_field:meta])* $name:ident: $type:ty = $kind:ident $key:ident,)* })?
    )*) => {
        /// The descriptor of an event. `S` is a string of NCCL's; a CUDA stream is its address; a tag of 0 is none.
        ///
        /// Integers have the width of the fields of NCCL's own structs (`ncclProfilerEventDescr_v7_t` and older). So a
        /// replay passes them on without conversion and without loss.
        #[expect(missing_docs, reason = "fields of NCCL's structures")]
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum RecordedEvent<S = Text> {
            $($(#[$about])* $event $({ $($(#[$about_field])* $name: $type,)* })?,)*
            /// An event of a type that only a newer NCCL has; its bits are all that is known of it.
            Unknown { bits: u64 },
        }

        /// The types in the order of their bits.
        enum EventType { $($event,)* }

        /// Names of the event types in lines; the place in the list is the number of the type's bit.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($event),)*];

        impl<S> RecordedEvent<S> {
            /// Returns the type as in NCCL's `descr.type`: one bit of `ncclProfileGroup`, `ncclProfileColl` and so on.
            pub fn bits(&self) -> u64 {
                match self {
                    $(Self::$event { .. } => 1 << EventType::$event as u32,)*
                    Self::Unknown { bits } => *bits,
                }
            }
        }

        impl<S: Copy> RecordedEvent<S> {
            /// Writes the fields that depend on the type.
            pub(crate) fn write_fields(&self, out: &mut dyn Write, strings: &dyn QuotedStrings<S>) -> io::Result<()> {
                match *self {
                    $(Self::$event $({ $($name,)* })? => { $($(write_field!($kind out strings $key $name);)*)? })*
                    Self::Unknown { .. } => {}
                }
                Ok(())
            }
        }

        impl RecordedEvent {
            /// Reads an event of the type with these bits.
            pub(crate) fn read(bits: u64, line: &LineFields<'_>, strings: &mut Strings) -> Result<Self, Problem> {
                $(if bits == 1 << EventType::$event as u32 {
                    return Ok(Self::$event $({ $($name: read_field!($kind line strings $key),)* })?);
                })*
                Ok(Self::Unknown { bits })
            }
        }
    };
}

events! {
    Group
    Coll {
        sequence: u64 = number seq,
        function: S = text func,
        count: u64 = number count,
        datatype: S = text dtype,
        root: i32 = number root,
        channels: u8 = number nch,
        warps: u8 = number nwarps,
        algorithm: S = text algo,
        protocol: S = text proto,
        /// The variant of a symmetric kernel; of another kernel `None`.
        symmetric: Option<S> = variant sym,
        tag: u64 = tag tag,
    }
    P2p {
        function: S = text func,
        count: u64 = number count,
        datatype: S = text dtype,
        peer: i32 = number peer,
        channels: u8 = number nch,
        tag: u64 = tag tag,
    }
    ProxyOp {
        pid: i32 = number pid,
        channel: u8 = number ch,
        peer: i32 = number peer,
        steps: i32 = number nsteps,
        chunk: i32 = number chunk,
        /// Not 0 for a send.
        send: i32 = number send,
    }
    ProxyStep { step: i32 = number step, }
    ProxyCtrl
    /// `ptimer` is the GPU's clock at the start, in a unit and with an epoch of its own.
    KernelCh {
        channel: u8 = number ch,
        ptimer: u64 = number ptimer,
    }
    /// `plugin` is NCCL's id of the network plugin.
    NetPlugin {
        plugin: i64 = number_or_0 plugin,
        event: NetworkEvent = network fd,
    }
    GroupApi {
        depth: i32 = number depth,
        captured: bool = flag graph,
    }
    CollApi {
        function: S = text func,
        count: u64 = number count,
        datatype: S = text dtype,
        root: i32 = number root,
        stream: u64 = address stream,
        captured: bool = flag graph,
        tag: u64 = tag tag,
    }
    P2pApi {
        function: S = text func,
        count: u64 = number count,
        datatype: S = text dtype,
        stream: u64 = address stream,
        captured: bool = flag graph,
        tag: u64 = tag tag,
    }
    KernelLaunch { stream: u64 = address stream, }
    /// A collective by copy engines. Recorders of other versions may leave fields out.
    CeColl {
        sequence: u64 = number_or_0 seq,
        function: S = text func,
        count: u64 = number_or_0 count,
        datatype: S = text dtype,
        root: i32 = number_or_0 root,
        stream: u64 = address_or_0 stream,
        tag: u64 = tag tag,
    }
    CeSync
    CeBatch
    KernelPhase {
        channel: u8 = number ch,
        phase: u8 = number phase,
        ptimer: u64 = number ptimer,
    }
}

impl<S> RecordedEvent<S> {
    /// Returns the name of the type; `None` of an unknown one.
    pub fn name(&self) -> Option<&'static str> {
        let is_known = !matches!(self, Self::Unknown { .. });
        is_known.then(|| NAMES.get(self.bits().trailing_zeros() as usize).copied()).flatten()
    }
}

/// Writes the contents of a network plugin's event, which have several fields.
fn write_network(out: &mut dyn Write, event: NetworkEvent) -> io::Result<()> {
    match event {
        NetworkEvent::QueuePair { device, number, bytes } => {
            write!(out, ",\"dev\":{device},\"qp\":{number},\"bytes\":{bytes}")
        }
        NetworkEvent::Socket { descriptor, sends, bytes } => {
            write!(out, ",\"fd\":{descriptor},\"send\":{},\"bytes\":{bytes}", u8::from(sends))
        }
        NetworkEvent::Other => Ok(()),
    }
}

/// Reads the contents of a network plugin's event, which older recorders did not write.
fn read_network(line: &LineFields<'_>) -> Result<NetworkEvent, Problem> {
    Ok(match (line.qp, line.fd) {
        (Some(_), _) => NetworkEvent::QueuePair {
            device: int("dev", line.dev)?,
            number: int("qp", line.qp)?,
            bytes: int("bytes", line.bytes)?,
        },
        (None, Some(_)) => NetworkEvent::Socket {
            descriptor: int("fd", line.fd)?,
            sends: int::<i32>("send", line.send)? != 0,
            bytes: int("bytes", line.bytes)?,
        },
        (None, None) => NetworkEvent::Other,
    })
}

impl TypeName<'_> {
    /// Returns the type's bit. Any number is accepted, for types of a newer NCCL. A name must be known: otherwise the
    /// bit is not known.
    pub(crate) fn bits(&self) -> Result<u64, Problem> {
        let name = match self {
            Self::Number(bits) => return Ok(*bits),
            Self::Name(name) => name.as_ref(),
        };
        if let Some(place) = NAMES.iter().position(|known| *known == name) {
            return Ok(1 << place);
        }
        let (digits, base) = match name.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (name, 10),
        };
        match u64::from_str_radix(digits, base) {
            // from_str_radix alone would also accept a sign.
            Ok(bits) if !digits.starts_with('+') => Ok(bits),
            _ => Err(Problem::EventName { name: name.to_owned(), known: NAMES }),
        }
    }
}
