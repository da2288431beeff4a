//! The names of events and of their states, as NCCL has them in `ncclProfilerEventState_t`.

use recording::RecordedEvent;

/// States by their numbers. NCCL has numbers from 25 on for events with one state at their end.
const STATES: [(u32, &str); 32] = [
    (0, "SendPosted"),
    (1, "SendRemFifoWait"),
    (2, "SendTransmitted"),
    (3, "SendDone"),
    (4, "RecvPosted"),
    (5, "RecvReceived"),
    (6, "RecvTransmitted"),
    (7, "RecvDone"),
    (8, "SendGPUWait"),
    (9, "SendWait"),
    (10, "RecvWait"),
    (11, "RecvFlushWait"),
    (12, "RecvGPUWait"),
    (13, "Idle"),
    (14, "Active"),
    (15, "Sleep"),
    (16, "Wakeup"),
    (17, "Append"),
    (18, "AppendEnd"),
    (19, "InProgress"),
    (20, "SendPeerWait"),
    (21, "Update"),
    (22, "KernelChStop"),
    (23, "GroupStartApiStop"),
    (24, "GroupEndApiStart"),
    (25, "CeCollStart"),
    (26, "CeCollComplete"),
    (27, "CeSyncStart"),
    (28, "CeSyncComplete"),
    (29, "CeBatchStart"),
    (30, "CeBatchComplete"),
    (31, "KernelPhaseStop"),
];

/// Returns the name of a state, or its number.
pub(super) fn state(number: u32) -> String {
    let known = STATES.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

/// Returns an event's type, with its function or direction.
pub(super) fn event(event: &RecordedEvent) -> String {
    let Some(name) = event.name() else { return format!("type {:#x}", event.bits()) };
    let (function, is_captured) = match event {
        RecordedEvent::Coll { function, .. }
        | RecordedEvent::P2p { function, .. }
        | RecordedEvent::CeColl { function, .. } => (function.as_deref(), false),
        RecordedEvent::ProxyOp { send, .. } => (Some(if *send != 0 { "send" } else { "receive" }), false),
        RecordedEvent::GroupApi { captured, .. } => (None, *captured),
        RecordedEvent::CollApi { function, captured, .. } | RecordedEvent::P2pApi { function, captured, .. } => {
            (function.as_deref(), *captured)
        }
        _ => (None, false),
    };
    let captured = if is_captured { " (captured)" } else { "" };
    match function {
        Some(function) => format!("{name} {function}{captured}"),
        None => format!("{name}{captured}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_a_name_and_no_other_number_has() {
        assert!(STATES.iter().map(|(number, _)| *number).eq(0..32));
        let named = [0, 7, 8, 29, 30, 32].map(state);
        assert_eq!(named, ["SendPosted", "RecvDone", "SendGPUWait", "CeBatchStart", "CeBatchComplete", "32"]);
    }
}
