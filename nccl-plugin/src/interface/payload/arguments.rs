//! The arguments of a state change: NCCL's union for `recordEventState`.

use super::structure::{CMember, members};
use crate::interface::kind::state;
use common::event::StateChange;
use common::event::progress::ProgressChange;
use std::ffi::{c_int, c_void};

/// A version's union of arguments of a state change.
pub trait StateUnion: Copy {
    /// Names and members of the structures in the union.
    const STRUCTURES: &'static [(&'static str, &'static [CMember])];

    /// Reads a change of state; `arguments` may be NULL.
    ///
    /// # Safety
    /// `arguments` is NULL or NCCL's union of this version, with the member written that the state selects.
    unsafe fn state(number: c_int, arguments: *const Self) -> StateChange;
}

/// Declares structures of a union.
macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($member:ident: $type:ty),* })*) => { $(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        struct $name { $($member: $type),* }

        impl $name {
            const MEMBERS: &'static [CMember] = members!(Self: $($member),*);
        }
    )* };
}

structures! {
    /// Of a proxy step: its bytes.
    ProxyStepArguments { size: usize }
    /// Of a proxy operation, up to v3: bytes and steps so far.
    ProxyOpArguments { size: usize, steps: c_int }
    /// Of the proxy thread: the number of proxy operations that it has taken over.
    ProxyCtrlArguments { operations: c_int }
    /// Of a network plugin's event: data that only the network plugin understands.
    NetPluginArguments { data: *mut c_void }
    /// Of a kernel channel, and of a phase within one (v7): the GPU clock at the stop.
    KernelChArguments { ptimer: u64 }
}

/// The union of v4 and later; the state selects the member.
#[repr(C)]
#[derive(Clone, Copy)]
pub union StateArguments {
    proxy_step: ProxyStepArguments,
    proxy_ctrl: ProxyCtrlArguments,
    net_plugin: NetPluginArguments,
    kernel_ch: KernelChArguments,
}

impl StateUnion for StateArguments {
    const STRUCTURES: &'static [(&'static str, &'static [CMember])] = &[
        ("proxy_step", ProxyStepArguments::MEMBERS),
        ("proxy_ctrl", ProxyCtrlArguments::MEMBERS),
        ("net_plugin", NetPluginArguments::MEMBERS),
        ("kernel_ch", KernelChArguments::MEMBERS),
    ];

    #[inline(always)]
    unsafe fn state(number: c_int, arguments: *const Self) -> StateChange {
        // SAFETY: the caller passes NULL or the version's union; NCCL writes the member that the state selects.
        unsafe {
            match (number, arguments.as_ref()) {
                (state::GROUP_END_API_START, _) => StateChange::GroupEndBegins,
                (state::PROXY_STEP_SEND_GPU_WAIT, _) => StateChange::SendGpuWait,
                (state::PROXY_STEP_SEND_PEER_WAIT, _) => StateChange::SendPeerWait,
                (state::PROXY_STEP_SEND_WAIT, Some(union)) => {
                    StateChange::SendWait { bytes: union.proxy_step.size as u64 }
                }
                (state::PROXY_STEP_RECEIVE_WAIT, _) => StateChange::ReceiveWait,
                (state::PROXY_STEP_RECEIVE_FLUSH_WAIT, Some(union)) => {
                    StateChange::ReceiveFlush { bytes: union.proxy_step.size as u64 }
                }
                (state::PROXY_STEP_RECEIVE_GPU_WAIT, _) => StateChange::ReceiveGpuWait,
                (state::KERNEL_CH_STOP, Some(union)) => StateChange::KernelChStop { ptimer: union.kernel_ch.ptimer },
                (state::PROXY_CTRL_APPEND_END, Some(union)) => union.proxy_ctrl.change(),
                (number, _) => progress(number),
            }
        }
    }
}

/// The union of v1 to v3. It has neither the size of a step nor the GPU clock; its size covers all steps of the proxy
/// operation so far.
#[repr(C)]
#[derive(Clone, Copy)]
pub union OldArguments {
    proxy_op: ProxyOpArguments,
    proxy_ctrl: ProxyCtrlArguments,
}

impl StateUnion for OldArguments {
    const STRUCTURES: &'static [(&'static str, &'static [CMember])] =
        &[("proxy_op", ProxyOpArguments::MEMBERS), ("proxy_ctrl", ProxyCtrlArguments::MEMBERS)];

    /// Returns [`StateChange::Other`] for the states of a proxy step: they lack the wait for the receiver, which would
    /// count as a wait for the GPU.
    unsafe fn state(number: c_int, arguments: *const Self) -> StateChange {
        // SAFETY: the caller passes NULL or the version's union; NCCL writes the member that the state selects.
        unsafe {
            match (number, arguments.as_ref()) {
                (state::PROXY_CTRL_APPEND_END, Some(union)) => union.proxy_ctrl.change(),
                (number, _) => progress(number),
            }
        }
    }
}

impl ProxyCtrlArguments {
    #[inline(always)]
    fn change(self) -> StateChange {
        // NCCL never takes over a negative number
        StateChange::Progress(ProgressChange::AppendEnd { operations: self.operations.max(0).cast_unsigned() })
    }
}

/// Returns the change of a progress thread's state with that number, or [`StateChange::Other`]. No argument is known.
#[inline(always)]
fn progress(number: c_int) -> StateChange {
    StateChange::Progress(match number {
        state::PROXY_CTRL_IDLE => ProgressChange::Idle,
        state::PROXY_CTRL_ACTIVE => ProgressChange::Active,
        state::PROXY_CTRL_SLEEP => ProgressChange::Sleep,
        state::PROXY_CTRL_WAKEUP => ProgressChange::Wakeup,
        state::PROXY_CTRL_APPEND => ProgressChange::Append,
        state::PROXY_CTRL_APPEND_END => ProgressChange::AppendEnd { operations: 0 },
        _ => return StateChange::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<A: StateUnion>(number: c_int, arguments: *const A) -> StateChange {
        // SAFETY: the tests pass NULL or a whole union.
        unsafe { A::state(number, arguments) }
    }

    #[test]
    fn sizes_and_stamps_are_read_since_v4() {
        let size = StateArguments { proxy_step: ProxyStepArguments { size: 4096 } };
        let stamp = StateArguments { kernel_ch: KernelChArguments { ptimer: 77 } };
        assert_eq!(read(9, &raw const size), StateChange::SendWait { bytes: 4096 });
        assert_eq!(read(22, &raw const stamp), StateChange::KernelChStop { ptimer: 77 });
        // the stop of a phase (state 31) does not stop a kernel channel
        assert_eq!(read(31, &raw const stamp), StateChange::Other);
        assert_eq!(read(11, &raw const size), StateChange::ReceiveFlush { bytes: 4096 });
        // of the other states, the argument is that of the step before
        for (number, change) in [
            (8, StateChange::SendGpuWait),
            (20, StateChange::SendPeerWait),
            (10, StateChange::ReceiveWait),
            (12, StateChange::ReceiveGpuWait),
        ] {
            assert_eq!(
                (read(number, &raw const size), read::<StateArguments>(number, std::ptr::null())),
                (change, change)
            );
        }
    }

    #[test]
    fn the_states_of_a_progress_thread_are_read_in_all_versions() {
        let changes = [
            ProgressChange::Idle,
            ProgressChange::Active,
            ProgressChange::Sleep,
            ProgressChange::Wakeup,
            ProgressChange::Append,
            ProgressChange::AppendEnd { operations: 5 },
        ];
        let told = StateArguments { proxy_ctrl: ProxyCtrlArguments { operations: 5 } };
        let old = OldArguments { proxy_ctrl: ProxyCtrlArguments { operations: 5 } };
        for (number, change) in (13..).zip(changes) {
            let expected = StateChange::Progress(change);
            assert_eq!((read(number, &raw const told), read(number, &raw const old)), (expected, expected));
        }
        let none = StateChange::Progress(ProgressChange::AppendEnd { operations: 0 });
        assert_eq!(read::<StateArguments>(18, std::ptr::null()), none);
        let negative = StateArguments { proxy_ctrl: ProxyCtrlArguments { operations: -1 } };
        assert_eq!(read(18, &raw const negative), none);
    }

    #[test]
    fn up_to_v3_an_argument_is_never_a_size_or_a_stamp() {
        let progress = OldArguments { proxy_op: ProxyOpArguments { size: 1 << 20, steps: 4 } };
        for number in (-1..40).filter(|number| !(13..=18).contains(number)) {
            assert_eq!(read(number, &raw const progress), StateChange::Other, "{number}");
            assert_eq!(read::<OldArguments>(number, std::ptr::null()), StateChange::Other, "{number}");
        }
    }

    #[test]
    fn missing_arguments_say_nothing() {
        assert_eq!(read::<StateArguments>(9, std::ptr::null()), StateChange::Other);
        assert_eq!(read::<StateArguments>(11, std::ptr::null()), StateChange::Other);
        assert_eq!(read::<StateArguments>(22, std::ptr::null()), StateChange::Other);
        assert_eq!(read::<StateArguments>(23, std::ptr::null()), StateChange::Other);
        assert_eq!(read::<StateArguments>(24, std::ptr::null()), StateChange::GroupEndBegins);
    }
}
