//! What comes with a change of state.

use crate::interface::kind::state;
use common::event::State;
use std::ffi::{c_int, c_void};

/// The union that a version passes with a change of state.
pub trait Change {
    /// Reads a change of state; `arguments` may be NULL.
    ///
    /// # Safety
    /// `arguments` is NULL or NCCL's union of this version, of which the member that the state names is filled in.
    unsafe fn state(number: c_int, arguments: *const Self) -> State;
}

/// v4 and later.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Arguments {
    /// Of a proxy step.
    pub proxy_step: Transfer,
    /// Of the proxy thread.
    pub proxy_ctrl: Appended,
    /// Of a network plugin.
    pub net_plugin: NetUpdate,
    /// Of a kernel channel, and of a phase of one (v7).
    pub kernel_ch: KernelStop,
}

impl Change for Arguments {
    #[inline(always)]
    unsafe fn state(number: c_int, arguments: *const Self) -> State {
        // SAFETY: NULL, or by the caller's word the version's union, of which NCCL fills in the member that the state
        // names.
        unsafe {
            match (number, arguments.as_ref()) {
                (state::GROUP_END_API_START, _) => State::GroupEndBegins,
                (state::PROXY_STEP_SEND_WAIT, Some(told)) => State::SendWait { bytes: told.proxy_step.size as u64 },
                (state::KERNEL_CH_STOP, Some(told)) => State::KernelChStop { ptimer: told.kernel_ch.ptimer },
                _ => State::Other,
            }
        }
    }
}

/// v1 to v3: neither a step's size nor the GPU's clock is told. The size is that of all steps of the operation so far.
#[repr(C)]
#[derive(Clone, Copy)]
pub union OldArguments {
    /// Of a proxy operation.
    pub proxy_op: OperationProgress,
    /// Of the proxy thread.
    pub proxy_ctrl: Appended,
}

impl Change for OldArguments {
    /// Reads nothing: no state of these versions says what the core has a use for.
    unsafe fn state(_number: c_int, _arguments: *const Self) -> State {
        State::Other
    }
}

/// Of a proxy step.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Its size.
    pub size: usize,
}

/// Of a proxy operation, up to v3.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct OperationProgress {
    /// Bytes so far.
    pub size: usize,
    /// Steps so far.
    pub steps: c_int,
}

/// Of the proxy thread.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Appended {
    /// Proxy operations appended.
    pub operations: c_int,
}

/// Of a network plugin.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NetUpdate {
    /// What only the network plugin knows.
    pub data: *mut c_void,
}

/// Of a kernel channel, and of a phase of one (v7).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelStop {
    /// The GPU's clock at the stop.
    pub ptimer: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<A: Change>(number: c_int, arguments: *const A) -> State {
        // SAFETY: the tests pass NULL or a whole union.
        unsafe { A::state(number, arguments) }
    }

    #[test]
    fn sizes_and_stamps_are_read_since_v4() {
        let size = Arguments { proxy_step: Transfer { size: 4096 } };
        let stamp = Arguments { kernel_ch: KernelStop { ptimer: 77 } };
        assert_eq!(read(9, &raw const size), State::SendWait { bytes: 4096 });
        assert_eq!(read(22, &raw const stamp), State::KernelChStop { ptimer: 77 });
        // a phase's stop is no kernel channel's
        assert_eq!(read(31, &raw const stamp), State::Other);
        assert_eq!((read(8, &raw const size), read(20, &raw const size)), (State::Other, State::Other));
    }

    #[test]
    fn up_to_v3_an_argument_is_never_a_size_or_a_stamp() {
        let progress = OldArguments { proxy_op: OperationProgress { size: 1 << 20, steps: 4 } };
        for number in -1..40 {
            assert_eq!(read(number, &raw const progress), State::Other, "{number}");
            assert_eq!(read::<OldArguments>(number, std::ptr::null()), State::Other, "{number}");
        }
    }

    #[test]
    fn missing_arguments_say_nothing() {
        assert_eq!(read::<Arguments>(9, std::ptr::null()), State::Other);
        assert_eq!(read::<Arguments>(22, std::ptr::null()), State::Other);
        assert_eq!(read::<Arguments>(23, std::ptr::null()), State::Other);
        assert_eq!(read::<Arguments>(24, std::ptr::null()), State::GroupEndBegins);
    }
}
