//! The arguments of a state change: NCCL's union for `recordEventState`.

use crate::interface::kind::state;
use common::event::StateChange;
use common::event::progress::ProgressChange;
use std::ffi::{c_int, c_void};

/// A version's union of arguments of a state change.
pub trait StateUnion {
    /// Reads a change of state; `arguments` may be NULL.
    ///
    /// # Safety
    /// `arguments` is NULL or NCCL's union of this version, with the member written that the state selects.
    unsafe fn state(number: c_int, arguments: *const Self) -> StateChange;
}

/// The union of v4 and later.
#[repr(C)]
#[derive(Clone, Copy)]
pub union StateArguments {
    /// A proxy step.
    pub proxy_step: ProxyStepArguments,
    /// The proxy thread.
    pub proxy_ctrl: Appended,
    /// A network plugin.
    pub net_plugin: NetUpdate,
    /// A kernel channel, or a phase within one (v7).
    pub kernel_ch: KernelStop,
}

impl StateUnion for StateArguments {
    #[inline(always)]
    unsafe fn state(number: c_int, arguments: *const Self) -> StateChange {
        // SAFETY: the caller passes NULL or the version's union; NCCL writes the member that the state selects.
        unsafe {
            match (number, arguments.as_ref()) {
                (state::GROUP_END_API_START, _) => StateChange::GroupEndBegins,
                (state::PROXY_STEP_SEND_GPU_WAIT, _) => StateChange::SendGpuWait,
                (state::PROXY_STEP_SEND_PEER_WAIT, _) => StateChange::SendPeerWait,
                (state::PROXY_STEP_SEND_WAIT, Some(told)) => {
                    StateChange::SendWait { bytes: told.proxy_step.size as u64 }
                }
                (state::PROXY_STEP_RECEIVE_WAIT, _) => StateChange::ReceiveWait,
                (state::PROXY_STEP_RECEIVE_FLUSH_WAIT, Some(told)) => {
                    StateChange::ReceiveFlush { bytes: told.proxy_step.size as u64 }
                }
                (state::PROXY_STEP_RECEIVE_GPU_WAIT, _) => StateChange::ReceiveGpuWait,
                (state::KERNEL_CH_STOP, Some(told)) => StateChange::KernelChStop { ptimer: told.kernel_ch.ptimer },
                (state::PROXY_CTRL_APPEND_END, Some(told)) => told.proxy_ctrl.change(),
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
    /// A proxy operation.
    pub proxy_op: OperationProgress,
    /// The proxy thread.
    pub proxy_ctrl: Appended,
}

impl StateUnion for OldArguments {
    /// Returns [`StateChange::Other`] for the states of a proxy step: they lack the wait for the receiver, which would
    /// count as a wait for the GPU.
    unsafe fn state(number: c_int, arguments: *const Self) -> StateChange {
        // SAFETY: the caller passes NULL or the version's union; NCCL writes the member that the state selects.
        unsafe {
            match (number, arguments.as_ref()) {
                (state::PROXY_CTRL_APPEND_END, Some(told)) => told.proxy_ctrl.change(),
                (number, _) => progress(number),
            }
        }
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

/// Arguments of a proxy step.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProxyStepArguments {
    /// Bytes of the step.
    pub size: usize,
}

/// Arguments of a proxy operation, up to v3.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct OperationProgress {
    /// Bytes transferred so far.
    pub size: usize,
    /// Steps done so far.
    pub steps: c_int,
}

/// Arguments of the proxy thread.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Appended {
    /// Number of proxy operations appended.
    pub operations: c_int,
}

impl Appended {
    #[inline(always)]
    fn change(self) -> StateChange {
        // NCCL never takes over a negative number
        StateChange::Progress(ProgressChange::AppendEnd { operations: self.operations.max(0).cast_unsigned() })
    }
}

/// Arguments of a network plugin's event.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NetUpdate {
    /// Data that only the network plugin understands.
    pub data: *mut c_void,
}

/// Arguments of a kernel channel, and of a phase within one (v7).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelStop {
    /// GPU clock at the stop.
    pub ptimer: u64,
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
        let stamp = StateArguments { kernel_ch: KernelStop { ptimer: 77 } };
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
        let told = StateArguments { proxy_ctrl: Appended { operations: 5 } };
        let old = OldArguments { proxy_ctrl: Appended { operations: 5 } };
        for (number, change) in (13..).zip(changes) {
            let expected = StateChange::Progress(change);
            assert_eq!((read(number, &raw const told), read(number, &raw const old)), (expected, expected));
        }
        let none = StateChange::Progress(ProgressChange::AppendEnd { operations: 0 });
        assert_eq!(read::<StateArguments>(18, std::ptr::null()), none);
        let negative = StateArguments { proxy_ctrl: Appended { operations: -1 } };
        assert_eq!(read(18, &raw const negative), none);
    }

    #[test]
    fn up_to_v3_an_argument_is_never_a_size_or_a_stamp() {
        let progress = OldArguments { proxy_op: OperationProgress { size: 1 << 20, steps: 4 } };
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
