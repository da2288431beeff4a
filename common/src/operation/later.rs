//! What a kernel has waited for before it began: its launch by the host, or its GPU.

/// Nanoseconds behind the launch within which a kernel begins on a GPU that was free. Two H200 with NCCL 2.28.9: of 602
/// all-reduces, each into a stream that had been idle for up to 2 ms, the last one began 6.1 us behind its launch by
/// stamps, and at its launch by CUDA events. Behind other kernels of the stream, begins were 20 us to 380 ms behind it.
const AT_ONCE: u64 = 10_000;

/// The later of the two that a kernel needs: its launch by the host, or a free GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// The GPU was free when the host launched the kernel, which began at once. By CUDA events, its stream was free: a
    /// kernel whose processors other streams' kernels hold does not show.
    Host,
    /// The host had launched the kernel when the GPU was still busy: with other work, or with a call that waited for
    /// another rank.
    Gpu,
}

impl Later {
    /// Returns the later one of a kernel that the host had launched at `launched` and that began at `start`, nanoseconds
    /// of one clock, of which the GPU's times may be earlier and later by `clock`. By CUDA events, its stream was free
    /// `ahead` of that: at the event before the launch. `None` where both are possible.
    pub fn of(launched: u64, start: u64, clock: [u64; 2], ahead: u64) -> Option<Self> {
        let (at_once, free) = (launched.saturating_add(AT_ONCE), start.saturating_sub(ahead));
        if free.saturating_sub(clock[0]) > at_once {
            Some(Self::Gpu)
        } else if free.saturating_add(clock[1]) <= at_once {
            Some(Self::Host)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_begin_that_is_known_too_roughly_says_nothing() {
        let of = |start, clock, ahead| Later::of(100_000, start, clock, ahead);
        assert_eq!(of(106_100, [3_000; 2], 0), Some(Later::Host));
        // by events, right behind the launch, into a stream that had been free for 50 us
        assert_eq!(of(100_900, [30_000; 2], 50_000), Some(Later::Host));
        assert_eq!(of(150_000, [3_000; 2], 3_000), Some(Later::Gpu));
        assert_eq!(of(112_000, [3_000, 1_000], 0), None);
        assert_eq!(of(108_000, [1_000, 3_000], 0), None);
        assert_eq!(of(0, [0; 2], 0), Some(Later::Host));
        assert_eq!(Later::of(u64::MAX, u64::MAX, [u64::MAX; 2], u64::MAX), Some(Later::Host));
    }
}
