//! Recorded events as descriptors of NCCL's, and the conversions by which NCCL's wrappers serve plugins of older versions.

use nccl_plugin::descriptor::{CeColl, Coll, CollApi, Descriptor, P2p, P2pApi, Payload, ProxyOp};
use nccl_plugin::replayed::PlayedVersion;
use recording::{RecordedEvent, Text};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// C strings, each kept once. They live as long as the process, as NCCL's strings do.
#[derive(Debug, Default)]
pub(super) struct CNames(HashMap<Arc<str>, &'static CStr>);

impl CNames {
    /// Returns a name as a C string.
    pub(super) fn text(&mut self, text: &Arc<str>) -> &'static CStr {
        self.0.entry(text.clone()).or_insert_with(|| {
            let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
            Box::leak(CString::new(bytes).unwrap_or_default().into_boxed_c_str())
        })
    }
}

/// Handles and ids of this run, for the descriptor of a starting event.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunHandles {
    /// Handle of the parent.
    pub(super) parent: u64,
    /// Handle of the operation's group.
    pub(super) group: u64,
    /// Recorded rank.
    pub(super) rank: i32,
    /// Id of the process that a proxy operation works for.
    pub(super) pid: i32,
}

/// Returns the descriptor of an event as a version of the interface passes it.
pub(super) fn of(
    version: PlayedVersion,
    event: &RecordedEvent,
    place: RunHandles,
    names: &mut CNames,
) -> Descriptor<'static> {
    let (api, bits) = (version.number, event.bits());
    let payload = if version.has(bits) { payload(event, place, names) } else { unknown(api, bits) };
    // up to v4, the parent of an operation is its group
    let is_operation = matches!(event, RecordedEvent::Coll { .. } | RecordedEvent::P2p { .. });
    let parent = if api <= 4 && is_operation { place.group } else { place.parent };
    Descriptor { parent, rank: place.rank, payload }
}

/// Returns an event of a type that the version does not have. Up to v4, a type has 8 bits.
fn unknown(api: u32, bits: u64) -> Payload<'static> {
    let narrow = u8::try_from(bits).unwrap_or(0);
    Payload::Unknown { bits: if api <= 4 { narrow.into() } else { bits } }
}

fn payload(event: &RecordedEvent, place: RunHandles, names: &mut CNames) -> Payload<'static> {
    let group = place.group;
    let mut text = |name: &Text| Some(names.text(name.as_ref()?).into());
    match event {
        RecordedEvent::Group => Payload::Group,
        RecordedEvent::Coll {
            sequence,
            function,
            count,
            datatype,
            root,
            channels,
            warps,
            algorithm,
            protocol,
            symmetric,
            tag,
        } => Payload::Coll(Coll {
            sequence: *sequence,
            function: text(function),
            count: *count,
            root: *root,
            datatype: text(datatype),
            channels: *channels,
            warps: *warps,
            algorithm: text(algorithm),
            protocol: text(protocol),
            group,
            variant: symmetric.as_ref().and_then(text),
            symmetric: symmetric.is_some(),
            tag: *tag,
            ..Coll::default()
        }),
        RecordedEvent::P2p { function, count, datatype, peer, channels, tag } => Payload::P2p(P2p {
            function: text(function),
            datatype: text(datatype),
            count: *count,
            peer: *peer,
            channels: *channels,
            group,
            tag: *tag,
            ..P2p::default()
        }),
        &RecordedEvent::ProxyOp { channel, peer, steps, chunk, send, .. } => {
            let send = i32::from(send != 0);
            Payload::ProxyOp(ProxyOp { pid: place.pid, channel, peer, steps, chunk, send })
        }
        &RecordedEvent::ProxyStep { step } => Payload::ProxyStep { step },
        RecordedEvent::ProxyCtrl => Payload::ProxyCtrl,
        &RecordedEvent::KernelCh { channel, ptimer } => Payload::KernelCh { channel, ptimer: Some(ptimer) },
        &RecordedEvent::NetPlugin { plugin, event } => Payload::NetPlugin { id: plugin, data: 0, event },
        &RecordedEvent::GroupApi { depth, captured } => Payload::GroupApi { captured, depth },
        RecordedEvent::CollApi { function, count, datatype, root, stream, captured, tag } => {
            Payload::CollApi(CollApi {
                function: text(function),
                count: *count,
                datatype: text(datatype),
                root: *root,
                stream: *stream as usize,
                captured: *captured,
                tag: *tag,
            })
        }
        RecordedEvent::P2pApi { function, count, datatype, stream, captured, tag } => Payload::P2pApi(P2pApi {
            function: text(function),
            count: *count,
            datatype: text(datatype),
            stream: *stream as usize,
            captured: *captured,
            tag: *tag,
        }),
        &RecordedEvent::KernelLaunch { stream } => Payload::KernelLaunch { stream: stream as usize },
        RecordedEvent::CeColl { sequence, function, count, datatype, root, stream, tag } => Payload::CeColl(CeColl {
            sequence: *sequence,
            function: text(function),
            count: *count,
            root: *root,
            datatype: text(datatype),
            stream: *stream as usize,
            tag: *tag,
            ..CeColl::default()
        }),
        // recordings have no fields of these two
        RecordedEvent::CeSync => Payload::CeSync { complete: false, ranks: 0 },
        RecordedEvent::CeBatch => Payload::CeBatch { operations: 0, bytes: 0, intra_sync: false },
        &RecordedEvent::KernelPhase { channel, phase, ptimer } => {
            Payload::KernelPhase { channel, phase, name: None, ptimer }
        }
        RecordedEvent::Unknown { bits } => Payload::Unknown { bits: *bits },
    }
}

/// Converts a change of state from version `recorded` to version `api`, as NCCL's wrappers do. Returns `None` when they
/// send nothing, otherwise the argument, if any.
pub(super) fn state(api: u32, recorded: u32, state: u32, argument: Option<u64>) -> Option<Option<u64>> {
    if api >= recorded {
        return Some(argument);
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
    is_sent.then_some(argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_an_operation_is_its_group_up_to_v4() {
        let place = RunHandles { parent: 1, group: 2, rank: 3, pid: 4 };
        let names = &mut CNames::default();
        let send = RecordedEvent::P2p { function: None, count: 5, datatype: None, peer: 6, channels: 7, tag: 0 };
        for api in 1..=7 {
            let parents =
                [&send, &RecordedEvent::Group].map(|event| of(PlayedVersion::nearest(api), event, place, names).parent);
            assert_eq!(parents, [if api <= 4 { 2 } else { 1 }, 1], "v{api}");
        }
    }

    #[test]
    fn a_type_that_the_version_lacks_has_its_number_alone() {
        let place = RunHandles { parent: 1, group: 2, rank: 3, pid: 4 };
        let as_in = |api, event| of(PlayedVersion::nearest(api), event, place, &mut CNames::default()).payload;
        let payload = |api| as_in(api, &RecordedEvent::KernelLaunch { stream: 5 });
        assert_eq!(payload(5), Payload::KernelLaunch { stream: 5 });
        assert_eq!(payload(4), Payload::Unknown { bits: 0 });
        let phase = RecordedEvent::KernelPhase { channel: 1, phase: 2, ptimer: 3 };
        assert_eq!(as_in(6, &phase), Payload::Unknown { bits: 1 << 15 });
    }

    #[test]
    fn sizes_stamps_and_newer_states_are_not_told_to_older_versions() {
        assert_eq!(state(3, 7, 9, Some(4096)), Some(Some(0)));
        assert_eq!(state(1, 7, 17, Some(3)), Some(Some(3)));
        assert_eq!((state(3, 7, 20, Some(1)), state(3, 7, 22, Some(1)), state(4, 7, 23, None)), (None, None, None));
        assert_eq!((state(4, 7, 9, Some(4096)), state(4, 7, 9, None)), (Some(Some(4096)), Some(None)));
        assert_eq!((state(5, 7, 25, None), state(6, 7, 25, None)), (None, Some(None)));
        assert_eq!((state(6, 7, 31, Some(1)), state(7, 7, 31, Some(1))), (None, Some(Some(1))));
    }

    #[test]
    fn what_came_through_a_version_goes_through_it_again() {
        assert_eq!((state(4, 4, 31, Some(1)), state(3, 3, 9, Some(5))), (Some(Some(1)), Some(Some(5))));
        assert_eq!(state(7, 5, 99, None), Some(None));
    }
}
