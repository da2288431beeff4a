//! The advance of a counter that may wrap, and that others may reset.

/// Sum of the steps forward of a counter that is read now and then.
///
/// A counter that stands lower than before has wrapped, or somebody has reset it. How far it went in between is not
/// known: that step counts as nothing, and the number of such steps is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forward {
    last: Option<u64>,
    sum: u64,
    set_back: u64,
}

impl Forward {
    /// Takes a reading. The first one is the zero. Returns the step since the reading before; `None` for the first one,
    /// and where the counter has gone back.
    pub fn read(&mut self, now: u64) -> Option<u64> {
        let last = self.last.replace(now)?;
        let step = now.checked_sub(last);
        self.sum = self.sum.saturating_add(step.unwrap_or(0));
        self.set_back += u64::from(step.is_none());
        step
    }

    /// Returns whether it has been read.
    pub fn is_read(&self) -> bool {
        self.last.is_some()
    }

    /// Returns the sum of the steps forward.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the number of times that the counter was found to have gone back.
    pub fn set_back(&self) -> u64 {
        self.set_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_forward_count() {
        let mut counter = Forward::default();
        assert!(!counter.is_read());
        let steps = [100, 130, 130, 20, 25, 1 << 40, 3].map(|now| counter.read(now));
        assert_eq!(steps, [None, Some(30), Some(0), None, Some(5), Some((1 << 40) - 25), None]);
        assert_eq!((counter.sum(), counter.set_back(), counter.is_read()), ((1 << 40) - 25 + 35, 2, true));
    }
}
