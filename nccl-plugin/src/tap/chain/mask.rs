//! The event types that NCCL reports to a plugin, given the types it asks for.

use crate::interface::kind::event;

/// Returns all types that NCCL reports to a plugin that asks for `mask`: NCCL adds the types of the parents.
pub(super) fn reported(mask: u64) -> u64 {
    let channel = event::KERNEL_CH | event::KERNEL_PHASE;
    let proxy = event::PROXY_OP | event::PROXY_STEP | event::NET_PLUGIN;
    let below = proxy | channel;
    let copies = event::CE_COLL | event::CE_SYNC | event::CE_BATCH;
    let operations = event::COLL | event::P2P | below;
    let rules = [
        (event::GROUP_API, !event::PROXY_CTRL),
        (event::COLL_API, event::COLL | below | copies),
        (event::P2P_API, event::P2P | below),
        (event::GROUP, operations),
        (event::COLL, below),
        (event::P2P, below),
        (event::PROXY_OP, proxy),
        (event::PROXY_STEP, event::NET_PLUGIN),
        (event::KERNEL_CH, channel),
        (event::CE_COLL, copies),
    ];
    rules.iter().filter(|(_, of)| mask & of != 0).fold(mask, |all, (kind, _)| all | kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_an_event_come_those_it_lies_in() {
        assert_eq!(reported(0), 0);
        assert_eq!(reported(event::PROXY_CTRL), event::PROXY_CTRL);
        assert_eq!(reported(event::GROUP_API), event::GROUP_API);
        let calls = event::GROUP_API | event::COLL_API;
        assert_eq!(reported(event::COLL), event::COLL | event::GROUP | calls);
        let all = event::COLL | event::P2P | event::GROUP | calls | event::P2P_API;
        assert_eq!(reported(event::KERNEL_CH), event::KERNEL_CH | all);
        assert_eq!(reported(event::PROXY_STEP), event::PROXY_STEP | event::PROXY_OP | all);
        assert_eq!(reported(event::CE_SYNC), event::CE_SYNC | event::CE_COLL | calls);
    }
}
