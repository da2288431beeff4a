//! When each step began on the common clock.

use crate::stream::Call;

/// Most steps that are kept; later ones have no time.
const MAX_STEPS: usize = 1 << 22;

/// The begin of each step after the warm-up: the earliest enqueue of its calls on any GPU.
#[derive(Debug, Default)]
pub struct StepBegins {
    begins: Vec<i64>,
    /// The last enqueue of all.
    last: i64,
}

impl StepBegins {
    pub(crate) fn call(&mut self, call: &Call, step: Option<u64>) {
        let Some(step) = step.and_then(|step| usize::try_from(step).ok()).filter(|&step| step < MAX_STEPS) else {
            return;
        };
        if step >= self.begins.len() {
            self.begins.resize(step + 1, i64::MAX);
        }
        self.begins[step] = self.begins[step].min(call.enqueued);
        self.last = self.last.max(call.enqueued);
    }

    /// Returns the time from a step on; `None` if nothing is known of it.
    pub fn from(&self, step: u64) -> Option<[i64; 2]> {
        let begin = *self.begins.get(usize::try_from(step).ok()?)?;
        (begin < self.last).then_some([begin, self.last])
    }

    /// Returns the time of a step, with the end of the step before, since a rank that pauses after its last call is
    /// late in the next step.
    pub(super) fn around(&self, step: u64) -> Option<[i64; 2]> {
        let step = usize::try_from(step).ok()?;
        let own = *self.begins.get(step).filter(|&&begin| begin < i64::MAX)?;
        let before = step.checked_sub(1).and_then(|before| self.begins.get(before)).copied().unwrap_or(own);
        let next = self.begins.get(step + 1).copied().filter(|&next| next < i64::MAX).unwrap_or(self.last);
        Some([before.min(own), next.max(own)])
    }
}
