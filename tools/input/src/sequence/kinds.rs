//! The names of events and of their states, as NCCL has them in `ncclProfilerEventState_t`.

use recording::CapturedEvent;

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
pub(super) fn event(event: &CapturedEvent) -> String {
    let with = |kind: &str, function: &Option<std::sync::Arc<str>>| match function {
        Some(function) => format!("{kind} {function}"),
        None => kind.to_owned(),
    };
    match event {
        CapturedEvent::Group => "Group".into(),
        CapturedEvent::Coll { func, .. } => with("Coll", func),
        CapturedEvent::P2p { func, .. } => with("P2p", func),
        CapturedEvent::ProxyOp { send, .. } => format!("ProxyOp {}", if *send { "send" } else { "receive" }),
        CapturedEvent::ProxyStep { .. } => "ProxyStep".into(),
        CapturedEvent::ProxyCtrl => "ProxyCtrl".into(),
        CapturedEvent::KernelCh { .. } => "KernelCh".into(),
        CapturedEvent::NetPlugin { .. } => "NetPlugin".into(),
        CapturedEvent::GroupApi { graph, .. } => format!("GroupApi{}", captured(*graph)),
        CapturedEvent::CollApi { func, graph, .. } => with("CollApi", func) + captured(*graph),
        CapturedEvent::P2pApi { func, graph, .. } => with("P2pApi", func) + captured(*graph),
        CapturedEvent::KernelLaunch { .. } => "KernelLaunch".into(),
        CapturedEvent::CeColl { func, .. } => with("CeColl", func),
        CapturedEvent::CeSync => "CeSync".into(),
        CapturedEvent::CeBatch => "CeBatch".into(),
        CapturedEvent::KernelPhase { .. } => "KernelPhase".into(),
        CapturedEvent::Unknown { bits } => format!("type {bits:#x}"),
    }
}

fn captured(is_in_graph: bool) -> &'static str {
    if is_in_graph { " (captured)" } else { "" }
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
