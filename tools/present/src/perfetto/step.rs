//! The step of a GPU that is under way in a trace.

/// A step of a GPU.
#[derive(Debug, Clone, Copy)]
struct OpenStep {
    number: u64,
    begin: i64,
    /// Latest end of its calls.
    stop: i64,
    /// What it has waited in its calls, nanoseconds; `None` where no wait is known.
    waited: Option<i64>,
}

/// A step that has ended, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndedStep {
    pub(super) begin: i64,
    pub(super) stop: i64,
    pub(super) waited: Option<i64>,
}

/// The steps of a GPU, one after the other.
#[derive(Debug)]
pub(super) struct StepTrack {
    /// Track of the steps.
    pub(super) slices: u64,
    /// Track of what the GPU waited in each.
    pub(super) waits: u64,
    present: Option<OpenStep>,
    /// End of the step before.
    last: i64,
}

impl StepTrack {
    pub(super) fn new(slices: u64, waits: u64) -> Self {
        Self { slices, waits, present: None, last: i64::MIN }
    }

    /// Returns the number of the step that is under way.
    pub(super) fn number(&self) -> Option<u64> {
        self.present.map(|step| step.number)
    }

    /// Begins a step with its first call. Returns its begin, which is not before the end of the one before.
    pub(super) fn begin(&mut self, number: u64, start: i64) -> i64 {
        let begin = start.max(self.last);
        self.present = Some(OpenStep { number, begin, stop: begin, waited: None });
        begin
    }

    /// Adds a call with its wait.
    pub(super) fn add(&mut self, stop: i64, wait: Option<i64>) {
        let Some(step) = &mut self.present else { return };
        step.stop = step.stop.max(stop);
        if let Some(wait) = wait {
            step.waited = Some(step.waited.unwrap_or(0).saturating_add(wait));
        }
    }

    /// Ends the step that is under way: with the next one's begin, or its own last call.
    pub(super) fn end(&mut self, next: Option<i64>) -> Option<EndedStep> {
        let OpenStep { begin, stop, waited, .. } = self.present.take()?;
        self.last = next.unwrap_or(stop).max(begin);
        Some(EndedStep { begin, stop: self.last, waited })
    }
}
