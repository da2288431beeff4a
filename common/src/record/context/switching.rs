//! The event types that each NCCL of the process is asked for, while the process runs.
//!
//! A request wants a preset. The next callback of each NCCL that starts an operation or a call changes NCCL's mask:
//! nobody else may, since that NCCL is loaded for certain only during its own calls. NCCL reads the mask at each call of
//! its API, and an operation keeps the types of its call to its end.

use crate::base::sync::Ordering;
use crate::config::Preset;
use crate::event::Mask;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Most NCCLs in a process. There may be two, PyTorch's and the system's.
const MOST: usize = 8;
/// Number of switches of an NCCL that are remembered. Operations of earlier times were read long ago.
const REMEMBERED: usize = 256;
/// The choice of the types that the settings ask for. The presets follow it.
const OWN: u32 = 0;

/// Time behind a switch within which a call may still have read the mask of before, nanoseconds.
pub const CLOSE: f64 = 10e6;

/// The mask of each NCCL.
static MASKS: [OnceLock<Mask>; MOST] = [const { OnceLock::new() }; MOST];
/// The choice in force for each NCCL.
static CHOSEN: [AtomicU32; MOST] = [const { AtomicU32::new(OWN) }; MOST];
/// The choice that is wanted.
static WANTED: AtomicU32 = AtomicU32::new(OWN);
/// The last switches of each NCCL: twice the time in ticks, plus one if kernel channels are asked for since.
static SWITCHES: [[AtomicU64; REMEMBERED]; MOST] = [const { [const { AtomicU64::new(0) }; REMEMBERED] }; MOST];
/// Number of switches of each NCCL so far.
static SWITCHED: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];

/// Whether NCCL was asked for kernel channels when an operation was called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChannelsAsked {
    /// It was.
    #[default]
    Yes,
    /// The call and a switch lie so close together that either is possible.
    Perhaps,
    /// It was not.
    No,
}

/// The mask of an NCCL by its place among all; `None` for an NCCL whose mask cannot be reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switched(Option<u32>);

impl Switched {
    /// Returns the place of this mask, which keeps it from now on.
    pub fn of(mask: Option<Mask>) -> Self {
        // the place was free and holds this mask now, or it held the same mask already
        let place = |mask| MASKS.iter().position(|place| *place.get_or_init(|| mask) == mask);
        Self(mask.and_then(place).map(|place| place as u32))
    }

    /// Returns the mask in a number, to be stored; 0 for none.
    pub(super) fn bits(self) -> u32 {
        self.0.map_or(0, |place| place + 1)
    }

    pub(super) fn from_bits(bits: u32) -> Self {
        Self(bits.checked_sub(1))
    }

    pub(super) fn mask(self) -> Option<&'static Mask> {
        MASKS.get(self.0? as usize)?.get()
    }

    fn choice(self) -> u32 {
        self.0.and_then(|place| CHOSEN.get(place as usize)).map_or(OWN, |chosen| chosen.load(Ordering::Relaxed))
    }

    /// Returns the types that NCCL is asked for by the present choice, without a pause of stamps.
    pub fn types(self) -> Option<i32> {
        Some(types(self.mask()?, self.choice(), true))
    }

    /// Returns whether the types are others than the settings', or were so at any time.
    pub fn has_switched(self) -> bool {
        self.0.and_then(|place| SWITCHED.get(place as usize)).is_some_and(|count| count.load(Ordering::Acquire) > 0)
    }

    /// Returns whether kernel channels can be asked for at some time.
    pub fn may_have_kernels(self) -> bool {
        self.mask()
            .is_some_and(|mask| (mask.presets.iter().fold(mask.own, |all, types| all | types) & mask.kernels) != 0)
    }

    /// Returns whether NCCL was asked for kernel channels at a call at this time, in ticks. `close` is the time behind a
    /// switch within which another thread may still have read the mask of before.
    pub fn asked_at(self, time: u64, close: u64) -> ChannelsAsked {
        let (Some(place), Some(mask)) = (self.0.map(|place| place as usize), self.mask()) else {
            return ChannelsAsked::Yes;
        };
        let count = SWITCHED[place].load(Ordering::Acquire) as usize;
        let entry = |number: usize| SWITCHES[place][number % REMEMBERED].load(Ordering::Acquire);
        let is = |asked: bool| if asked { ChannelsAsked::Yes } else { ChannelsAsked::No };
        for number in (count.saturating_sub(REMEMBERED - 1)..count).rev() {
            let (begun, asked) = (entry(number) >> 1, entry(number) & 1 == 1);
            if begun < time {
                let before =
                    number.checked_sub(1).map_or(mask.own & mask.kernels != 0, |number| entry(number) & 1 == 1);
                return if before != asked && time - begun < close { ChannelsAsked::Perhaps } else { is(asked) };
            }
        }
        is(mask.own & mask.kernels != 0)
    }

    /// Sets the wanted choice in force, at `now` in ticks. Must be called from a callback of this NCCL.
    pub(super) fn apply(self, now: u64, stamps: bool) {
        let (Some(place), Some(mask)) = (self.0.map(|place| place as usize), self.mask()) else { return };
        let (wanted, chosen) = (WANTED.load(Ordering::Acquire), CHOSEN[place].load(Ordering::Relaxed));
        if wanted == chosen || !is_ours(mask, mask.word.load(Ordering::Relaxed)) {
            return;
        }
        // one thread does it
        if CHOSEN[place].compare_exchange(chosen, wanted, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        // noted first: whoever sees the new mask is found behind this time
        let number = SWITCHED[place].load(Ordering::Relaxed);
        let asks = types(mask, wanted, true) & mask.kernels != 0;
        SWITCHES[place][number as usize % REMEMBERED].store(now << 1 | u64::from(asks), Ordering::Release);
        SWITCHED[place].store(number + 1, Ordering::Release);
        self.ask(stamps);
    }

    /// Asks NCCL for the types of the present choice, with the GPU's stamps or without. A mask that NCCL itself or
    /// another plugin has changed meanwhile stays as it is. Must be called from a callback of this NCCL.
    pub(super) fn ask(self, stamps: bool) {
        let Some(mask) = self.mask() else { return };
        let (wanted, current) = (types(mask, self.choice(), stamps), mask.word.load(Ordering::Relaxed));
        if current != wanted && is_ours(mask, current) {
            let _ = mask.word.compare_exchange(current, wanted, Ordering::SeqCst, Ordering::Relaxed);
        }
    }
}

fn types(mask: &Mask, choice: u32, stamps: bool) -> i32 {
    let of_preset = |index: u32| mask.presets.get(index as usize).copied();
    let types = choice.checked_sub(1).and_then(of_preset).unwrap_or(mask.own);
    if stamps { types } else { types & !mask.kernels }
}

fn is_ours(mask: &Mask, found: i32) -> bool {
    (OWN..=mask.presets.len() as u32)
        .any(|choice| [true, false].iter().any(|&stamps| types(mask, choice, stamps) == found))
}

/// Wants a preset from now on, or with `None` the types of the settings.
pub fn want(preset: Option<Preset>) {
    let index = preset.and_then(|preset| Preset::ALL.iter().position(|other| *other == preset));
    WANTED.store(index.map_or(OWN, |index| index as u32 + 1), Ordering::Release);
}

/// Returns whether an NCCL of this process is not yet asked for what is wanted.
pub fn is_due() -> bool {
    let wanted = WANTED.load(Ordering::Relaxed);
    let made = MASKS.iter().filter(|mask| mask.get().is_some()).count();
    CHOSEN[..made].iter().any(|chosen| chosen.load(Ordering::Relaxed) != wanted)
}

/// Returns the masks of this process that can be switched.
pub fn masks() -> impl Iterator<Item = &'static Mask> {
    MASKS.iter().filter_map(OnceLock::get)
}

/// Returns whether the types of any NCCL have been switched.
pub fn has_any_switched() -> bool {
    SWITCHED.iter().any(|count| count.load(Ordering::Relaxed) > 0)
}

/// Returns the number of switches of all NCCLs of this process so far.
pub fn switches() -> u32 {
    SWITCHED.iter().fold(0, |sum, count| sum.wrapping_add(count.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicI32;

    #[test]
    fn a_switch_divides_the_calls_before_it_from_those_behind_it() {
        static WORD: AtomicI32 = AtomicI32::new(0x40 | 2);
        let mask =
            Mask { word: &WORD, own: 0x42, presets: [2, 0x42, 0x5a, 0xff], kernels: 0x40, lacks_launches: false };
        let switched = Switched::of(Some(mask));
        assert_eq!((Switched::of(Some(mask)), switched.asked_at(5, 10)), (switched, ChannelsAsked::Yes));
        want(Some(Preset::Api));
        assert!(is_due());
        switched.apply(100, true);
        assert!(!is_due() && WORD.load(Ordering::Relaxed) == 2 && switched.has_switched());
        want(Some(Preset::Full));
        switched.apply(200, false);
        assert_eq!(WORD.load(Ordering::Relaxed), 0xbf, "stamps pause");
        switched.ask(true);
        assert_eq!(WORD.load(Ordering::Relaxed), 0xff);
        let asked = [100, 101, 109, 110, 200, 201, 210].map(|time| switched.asked_at(time, 10));
        use ChannelsAsked::{No, Perhaps, Yes};
        assert_eq!(asked, [Yes, Perhaps, Perhaps, No, No, Perhaps, Yes]);
        // between presets that both have stamps, nothing is in doubt
        want(None);
        switched.apply(300, true);
        assert_eq!((switched.asked_at(301, 10), WORD.load(Ordering::Relaxed)), (Yes, 0x42));
        // somebody else's mask stays
        WORD.store(7, Ordering::Relaxed);
        want(Some(Preset::Api));
        switched.apply(400, true);
        assert_eq!((WORD.swap(0x42, Ordering::Relaxed), is_due()), (7, true));
        want(None);
    }
}
