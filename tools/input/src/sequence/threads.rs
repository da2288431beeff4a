//! The threads of a process, and what each is, by the callbacks that it makes.

use recording::{CallbackKind, RecordedEvent};
use std::collections::BTreeMap;

/// What a thread is. The first that holds, in this order, holds for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ThreadRole {
    /// It calls NCCL's functions.
    Application,
    /// It moves data over the network for NCCL.
    Proxy,
    /// It hands operations over without calling NCCL's functions: CUDA's thread for callbacks, or NCCL's own.
    Launch,
    /// It reads the GPU's timestamps for NCCL.
    Timestamps,
    /// It makes other callbacks.
    Other,
}

impl ThreadRole {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Proxy => "NCCL's proxy",
            Self::Launch => "launch",
            Self::Timestamps => "NCCL's timestamps",
            Self::Other => "other",
        }
    }

    fn of(event: &RecordedEvent) -> Self {
        match event {
            RecordedEvent::GroupApi { .. } | RecordedEvent::CollApi { .. } | RecordedEvent::P2pApi { .. } => {
                Self::Application
            }
            RecordedEvent::ProxyOp { .. } | RecordedEvent::ProxyStep { .. } | RecordedEvent::ProxyCtrl => Self::Proxy,
            RecordedEvent::Group | RecordedEvent::Coll { .. } | RecordedEvent::P2p { .. } => Self::Launch,
            RecordedEvent::KernelCh { .. } | RecordedEvent::KernelPhase { .. } => Self::Timestamps,
            _ => Self::Other,
        }
    }
}

/// Roles of threads by their numbers in the recording.
#[derive(Debug, Default)]
pub(super) struct ThreadRoles(BTreeMap<u32, ThreadRole>);

impl ThreadRoles {
    pub(super) fn take(&mut self, thread: u32, call: &CallbackKind) {
        if let CallbackKind::Start { event, .. } = call {
            let role = ThreadRole::of(event);
            self.0.entry(thread).and_modify(|known| *known = role.min(*known)).or_insert(role);
        }
    }

    pub(super) fn of(&self, thread: u32) -> ThreadRole {
        match self.0.get(&thread).copied().unwrap_or(ThreadRole::Other) {
            // before 2.28, NCCL reports no call of its functions: the thread that hands operations over makes the calls
            ThreadRole::Launch if !self.0.values().any(|role| *role == ThreadRole::Application) => {
                ThreadRole::Application
            }
            role => role,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_calls_the_thread_of_operations_is_the_application() {
        let start = |event| CallbackKind::Start { ctx: 1, h: 1, parent: 0, rank: 0, event };
        let mut roles = ThreadRoles::default();
        roles.take(1, &start(RecordedEvent::Group));
        roles.take(2, &start(RecordedEvent::ProxyCtrl));
        assert_eq!([1, 2, 3].map(|thread| roles.of(thread)), {
            [ThreadRole::Application, ThreadRole::Proxy, ThreadRole::Other]
        });
        roles.take(3, &start(RecordedEvent::GroupApi { depth: 1, captured: false }));
        assert_eq!([1, 3].map(|thread| roles.of(thread)), [ThreadRole::Launch, ThreadRole::Application]);
    }
}
