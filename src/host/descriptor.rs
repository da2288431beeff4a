//! Event descriptors in NCCL's memory layout (x86_64 and aarch64), and the conversions by which NCCL's wrappers serve
//! plugins of older versions.

use super::c_memory::CMemory;
use crate::capture::CapturedEvent;
use std::sync::Arc;

/// Number of words of a descriptor's memory; no version has more.
const WORDS: usize = 20;

/// Memory of a descriptor.
#[repr(C, align(8))]
#[derive(Debug)]
pub(crate) struct DescriptorMemory([u8; 8 * WORDS]);

/// Handles and ids of this run, for the descriptor of a starting event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunHandles {
    /// Handle of the parent.
    pub(crate) parent: u64,
    /// Handle of the operation's group.
    pub(crate) group: u64,
    /// Recorded rank.
    pub(crate) rank: i32,
    /// Id of the process that a proxy operation works for.
    pub(crate) pid: i32,
}

/// Offset of the union of payloads, bytes.
const PAYLOAD: usize = 24;

/// Returns the oldest version of the interface that has such events.
pub(crate) fn since(event: &CapturedEvent) -> u32 {
    match event {
        CapturedEvent::Group | CapturedEvent::Coll { .. } | CapturedEvent::P2p { .. } => 1,
        CapturedEvent::ProxyOp { .. } | CapturedEvent::ProxyStep { .. } | CapturedEvent::ProxyCtrl => 1,
        CapturedEvent::KernelCh { .. } | CapturedEvent::NetPlugin { .. } => 3,
        CapturedEvent::GroupApi { .. }
        | CapturedEvent::CollApi { .. }
        | CapturedEvent::P2pApi { .. }
        | CapturedEvent::KernelLaunch { .. } => 5,
        CapturedEvent::CeColl { .. } | CapturedEvent::CeSync | CapturedEvent::CeBatch => 6,
        CapturedEvent::KernelPhase { .. } => 7,
        // older versions do not have the event; nothing else is known of it
        CapturedEvent::Unknown { .. } => u32::MAX,
    }
}

/// Returns the number that v1 has for a name, or `others`, NCCL's number for all other names.
fn number(names: &[&str], name: Option<&Arc<str>>, others: u8) -> u8 {
    let place = names.iter().position(|&known| name.is_some_and(|name| **name == *known));
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(others)
}

const FUNCTIONS: [&str; 8] =
    ["Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv"];
const DATATYPES: [&str; 10] = [
    "ncclInt8",
    "ncclUint8",
    "ncclInt32",
    "ncclUint32",
    "ncclInt64",
    "ncclUint64",
    "ncclFloat16",
    "ncclFloat32",
    "ncclFloat64",
    "ncclBfloat16",
];
const ALGORITHMS: [&str; 7] = ["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"];
const PROTOCOLS: [&str; 3] = ["LL", "LL128", "SIMPLE"];

/// Returns v1's numbers of the function and the data type.
fn function_and_type(func: Option<&Arc<str>>, dtype: Option<&Arc<str>>) -> (u8, u8) {
    (number(&FUNCTIONS, func, 6), number(&DATATYPES, dtype, 8))
}

impl DescriptorMemory {
    /// Lays an event out as version `api` of the interface has it.
    pub(crate) fn new(api: u32, event: &CapturedEvent, place: RunHandles, pointed: &mut CMemory) -> Self {
        let mut descriptor = Self([0; 8 * WORDS]);
        if api <= 4 {
            descriptor.put(0, &[u8::try_from(event.bits()).unwrap_or(0)]);
        } else {
            descriptor.put(0, &event.bits().to_ne_bytes());
        }
        // up to v4, the parent of an operation is its group
        let is_operation = matches!(event, CapturedEvent::Coll { .. } | CapturedEvent::P2p { .. });
        let parent = if api <= 4 && is_operation { place.group } else { place.parent };
        descriptor.put(8, &parent.to_ne_bytes());
        descriptor.put(16, &place.rank.to_ne_bytes());
        match (api, event) {
            (1, CapturedEvent::Coll { .. } | CapturedEvent::P2p { .. }) => descriptor.numbered(event),
            // up to v3, the payload begins with the communicator's name and id: NULL and 0 from NCCL's wrappers
            (..=3, CapturedEvent::Coll { .. } | CapturedEvent::P2p { .. }) => {
                descriptor.payload(api, PAYLOAD + 16, event, place, pointed)
            }
            _ => descriptor.payload(api, PAYLOAD, event, place, pointed),
        }
        descriptor
    }

    /// Returns the address of the descriptor, for the call.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr()
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&mut self, offset: usize, value: u64) {
        self.put(offset, &value.to_ne_bytes());
    }

    fn int(&mut self, offset: usize, value: i32) {
        self.put(offset, &value.to_ne_bytes());
    }

    fn byte(&mut self, offset: usize, value: u8) {
        self.put(offset, &[value]);
    }

    /// Writes the user's tag, which v7 and later have.
    fn tag(&mut self, api: u32, offset: usize, tag: u64) {
        if api >= 7 {
            self.word(offset, tag);
        }
    }

    /// Writes an operation's payload in v1's layout.
    fn numbered(&mut self, event: &CapturedEvent) {
        let base = PAYLOAD;
        match event {
            CapturedEvent::Coll { seq, func, count, dtype, root, nch, nwarps, algo, proto, .. } => {
                let (function, datatype) = function_and_type(func.as_ref(), dtype.as_ref());
                self.word(base + 16, *seq);
                self.byte(base + 24, function);
                self.word(base + 48, *count);
                self.int(base + 56, *root);
                self.byte(base + 60, datatype);
                self.byte(base + 80, *nch);
                self.byte(base + 81, *nwarps);
                self.byte(base + 82, number(&ALGORITHMS, algo.as_ref(), 6));
                self.byte(base + 83, number(&PROTOCOLS, proto.as_ref(), 2));
            }
            CapturedEvent::P2p { func, count, dtype, peer, .. } => {
                let (function, datatype) = function_and_type(func.as_ref(), dtype.as_ref());
                self.byte(base + 16, function);
                self.byte(base + 32, datatype);
                self.word(base + 40, *count);
                self.int(base + 48, *peer);
            }
            _ => {}
        }
    }

    /// Writes an event's payload at offset `base`. Versions differ only where the code compares `api`.
    fn payload(&mut self, api: u32, base: usize, event: &CapturedEvent, place: RunHandles, pointed: &mut CMemory) {
        match event {
            CapturedEvent::Coll { seq, func, count, dtype, root, nch, nwarps, algo, proto, symmetric, tag } => {
                // only v2 has the traffic here
                let rest = if api == 2 { base + 64 } else { base + 56 };
                self.word(base, *seq);
                self.word(base + 8, pointed.address(func.as_ref()));
                self.word(base + 32, *count);
                self.int(base + 40, *root);
                self.word(base + 48, pointed.address(dtype.as_ref()));
                self.byte(rest, *nch);
                self.byte(rest + 1, *nwarps);
                self.word(rest + 8, pointed.address(algo.as_ref()));
                self.word(rest + 16, pointed.address(proto.as_ref()));
                if api >= 5 {
                    self.word(rest + 24, place.group);
                }
                if api >= 7 {
                    let variant = symmetric.as_ref().and_then(Option::as_ref);
                    self.word(rest + 32, pointed.address(variant));
                    self.byte(rest + 40, u8::from(symmetric.is_some()));
                    self.word(rest + 48, *tag);
                }
            }
            CapturedEvent::P2p { func, count, dtype, peer, nch, tag } => {
                self.word(base, pointed.address(func.as_ref()));
                self.word(base + 16, pointed.address(dtype.as_ref()));
                self.word(base + 24, *count);
                self.int(base + 32, *peer);
                if api >= 4 {
                    self.byte(base + 36, *nch);
                }
                if api >= 5 {
                    self.word(base + 40, place.group);
                }
                self.tag(api, base + 48, *tag);
            }
            CapturedEvent::ProxyOp { ch, peer, nsteps, chunk, send, .. } => {
                self.int(base, place.pid);
                self.byte(base + 4, *ch);
                self.int(base + 8, *peer);
                self.int(base + 12, *nsteps);
                self.int(base + 16, *chunk);
                self.int(base + 20, i32::from(*send));
            }
            CapturedEvent::ProxyStep { step } => self.int(base, *step),
            CapturedEvent::KernelCh { ch, ptimer } => {
                self.byte(base, *ch);
                if api >= 4 {
                    self.word(base + 8, *ptimer);
                }
            }
            CapturedEvent::GroupApi { depth, graph } => {
                self.byte(base, u8::from(*graph));
                self.int(base + 4, *depth);
            }
            CapturedEvent::CollApi { func, count, dtype, root, stream, graph, tag } => {
                self.word(base, pointed.address(func.as_ref()));
                self.word(base + 8, *count);
                self.word(base + 16, pointed.address(dtype.as_ref()));
                self.int(base + 24, *root);
                self.word(base + 32, *stream);
                self.byte(base + 40, u8::from(*graph));
                self.tag(api, base + 48, *tag);
            }
            CapturedEvent::P2pApi { func, count, dtype, stream, graph, tag } => {
                self.word(base, pointed.address(func.as_ref()));
                self.word(base + 8, *count);
                self.word(base + 16, pointed.address(dtype.as_ref()));
                self.word(base + 24, *stream);
                self.byte(base + 32, u8::from(*graph));
                self.tag(api, base + 40, *tag);
            }
            CapturedEvent::KernelLaunch { stream } => self.word(base, *stream),
            CapturedEvent::CeColl { seq, func, count, dtype, root, stream, tag } => {
                self.word(base, *seq);
                self.word(base + 8, pointed.address(func.as_ref()));
                self.word(base + 32, *count);
                self.int(base + 40, *root);
                self.word(base + 48, pointed.address(dtype.as_ref()));
                self.word(base + 80, *stream);
                self.tag(api, base + 88, *tag);
            }
            CapturedEvent::NetPlugin { plugin, event } => {
                self.word(base, plugin.cast_unsigned());
                self.word(base + 8, pointed.contents(*event));
            }
            CapturedEvent::KernelPhase { ch, phase, ptimer } => {
                self.byte(base, *ch);
                self.byte(base + 1, *phase);
                self.word(base + 16, *ptimer);
            }
            CapturedEvent::Group
            | CapturedEvent::ProxyCtrl
            | CapturedEvent::CeSync
            | CapturedEvent::CeBatch
            | CapturedEvent::Unknown { .. } => {}
        }
    }
}

/// Argument of a change of state: as large as the largest version's union.
pub(crate) type StateArgument = [u64; 2];

/// Converts a change of state from version `recorded` to version `api`, as NCCL's wrappers do. Returns `None` when they
/// send nothing, otherwise the argument, if any.
pub(crate) fn state(api: u32, recorded: u32, state: u32, argument: Option<u64>) -> Option<Option<StateArgument>> {
    if api >= recorded {
        return Some(argument.map(|argument| [argument, 0]));
    }
    let of_thread = 13..=18;
    let of_step = [8, 9, 10, 11, 12];
    let is_sent = match api {
        // newer NCCLs no longer have the states of proxy operations and their arguments
        ..=3 => of_thread.contains(&state) || of_step.contains(&state),
        4 => of_thread.contains(&state) || of_step.contains(&state) || [19, 20, 21, 22].contains(&state),
        5 => !(25..=31).contains(&state),
        6 => state != 31,
        _ => true,
    };
    let argument = if api > 3 {
        argument
    } else if of_thread.contains(&state) {
        Some(argument.unwrap_or(0))
    } else {
        // up to v3 the argument has no size of the step, but it is not NULL
        Some(0)
    };
    is_sent.then(|| argument.map(|argument| [argument, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> RunHandles {
        RunHandles { parent: 1, group: 2, rank: 3, pid: 4 }
    }

    fn word(descriptor: &DescriptorMemory, offset: usize) -> u64 {
        u64::from_ne_bytes(descriptor.0[offset..offset + 8].try_into().unwrap())
    }

    #[test]
    fn the_parent_of_an_operation_is_its_group_up_to_v4() {
        let (event, pointed) = (
            CapturedEvent::P2p { func: None, count: 5, dtype: None, peer: 6, nch: 7, tag: 0 },
            &mut CMemory::default(),
        );
        for api in 1..=7 {
            let descriptor = DescriptorMemory::new(api, &event, place(), pointed);
            assert_eq!(word(&descriptor, 8), if api <= 4 { 2 } else { 1 }, "v{api}");
            assert_eq!(word(&DescriptorMemory::new(api, &CapturedEvent::Group, place(), pointed), 8), 1, "v{api}");
        }
    }

    #[test]
    fn sizes_stamps_and_newer_states_are_not_told_to_older_versions() {
        assert_eq!(state(3, 7, 9, Some(4096)), Some(Some([0, 0])));
        assert_eq!(state(1, 7, 17, Some(3)), Some(Some([3, 0])));
        assert_eq!((state(3, 7, 20, Some(1)), state(3, 7, 22, Some(1)), state(4, 7, 23, None)), (None, None, None));
        assert_eq!((state(4, 7, 9, Some(4096)), state(4, 7, 9, None)), (Some(Some([4096, 0])), Some(None)));
        assert_eq!((state(5, 7, 25, None), state(6, 7, 25, None)), (None, Some(None)));
        assert_eq!((state(6, 7, 31, Some(1)), state(7, 7, 31, Some(1))), (None, Some(Some([1, 0]))));
    }

    #[test]
    fn what_came_through_a_version_goes_through_it_again() {
        assert_eq!((state(4, 4, 31, Some(1)), state(3, 3, 9, Some(5))), (Some(Some([1, 0])), Some(Some([5, 0]))));
        assert_eq!(state(7, 5, 99, None), Some(None));
    }
}
