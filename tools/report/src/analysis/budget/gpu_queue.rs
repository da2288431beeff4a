//! A GPU's time, as its calls come.
//!
//! Calls come in the order of the host, which is nearly that of their begins: streams run beside each other. So calls
//! wait until 128 more have come, and leave by their begins. What comes later than that counts from the present place
//! on.

use super::computation::Computation;
use super::sweep::{Doing, GpuStretch, Reach, Spent, Sweep, divide};
use crate::analysis::steps::StepEvent;
use crate::answer::GpuBudget;
use std::collections::VecDeque;

/// Calls and events that wait.
const MAX_WAITING: usize = 128;

/// What leaves the queue.
#[derive(Debug, Clone, Copy)]
enum QueueChange {
    Call {
        waits_until: Option<i64>,
        stop: i64,
        /// Number of its communicator's dimension.
        dimension: usize,
    },
    Event(StepEvent),
}

/// A step that a GPU has ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndedGpuStep {
    /// Number, warm-up included.
    pub(crate) step: u64,
    pub(super) begin: i64,
    /// Length, nanoseconds.
    pub(crate) length: i64,
    pub(super) budget: GpuBudget,
    /// Time with a wait under way, also beside a computation.
    pub(crate) wait: i64,
    /// By number of the dimension.
    pub(super) dimensions: Vec<Spent>,
}

impl EndedGpuStep {
    /// Returns the time with no NCCL under way, nanoseconds.
    pub(crate) fn outside_ns(&self) -> u64 {
        self.budget.computing_ns + self.budget.idle_ns
    }
}

/// A GPU on its way along time.
#[derive(Debug, Default)]
pub(super) struct GpuQueue {
    queue: VecDeque<(i64, QueueChange)>,
    sweep: Sweep,
    reaches: Vec<Reach>,
    pub(super) computation: Computation,
    open: Option<EndedGpuStep>,
    /// The open step as it was when all of its calls had ended.
    complete: Option<EndedGpuStep>,
    /// Calls that came too late for their time.
    pub(super) late: u64,
}

impl GpuQueue {
    pub(super) fn new(dimensions: usize, computation: Computation) -> Self {
        Self { reaches: vec![Reach::default(); dimensions], computation, ..Self::default() }
    }

    /// Takes in what happens to the GPU's step. Steps that end with it are added to `ended`.
    pub(super) fn event(&mut self, event: StepEvent, ended: &mut Vec<EndedGpuStep>) {
        let (StepEvent::Begin(_, at) | StepEvent::Leave(at) | StepEvent::Complete(_, at)) = event;
        self.enter(at, QueueChange::Event(event), ended);
    }

    /// Takes in a call's time on the GPU.
    pub(super) fn call(
        &mut self,
        [start, stop]: [i64; 2],
        wait: Option<i64>,
        dimension: usize,
        ended: &mut Vec<EndedGpuStep>,
    ) {
        let waits_until = wait.map(|wait| start.saturating_add(wait));
        self.enter(start, QueueChange::Call { waits_until, stop: stop.max(start), dimension }, ended);
    }

    fn enter(&mut self, at: i64, what: QueueChange, ended: &mut Vec<EndedGpuStep>) {
        let place = self.queue.iter().rposition(|(other, _)| *other <= at).map_or(0, |place| place + 1);
        self.queue.insert(place, (at, what));
        if self.queue.len() > MAX_WAITING {
            self.leave(ended);
        }
    }

    /// Passes all that waits.
    pub(super) fn finish(&mut self, ended: &mut Vec<EndedGpuStep>) {
        while !self.queue.is_empty() {
            self.leave(ended);
        }
        ended.extend(self.complete.take().filter(|complete| complete.length > 0));
        self.open = None;
    }

    fn leave(&mut self, ended: &mut Vec<EndedGpuStep>) {
        let Some((at, what)) = self.queue.pop_front() else { return };
        match what {
            QueueChange::Call { waits_until, stop, dimension } => {
                if at < self.sweep.at {
                    self.late += 1;
                }
                if stop <= self.sweep.at {
                    return;
                }
                self.go(at);
                self.sweep.add(waits_until, stop);
                if let Some(reach) = self.reaches.get_mut(dimension) {
                    reach.add(waits_until, stop);
                }
            }
            QueueChange::Event(event) => self.pass(event, ended),
        }
    }

    fn pass(&mut self, event: StepEvent, ended: &mut Vec<EndedGpuStep>) {
        let (StepEvent::Begin(_, at) | StepEvent::Leave(at) | StepEvent::Complete(_, at)) = event;
        self.go(at);
        // an event that came too late for its time is one of the present place
        let at = at.max(self.sweep.at);
        let is_complete = matches!(event, StepEvent::Complete(..));
        if let Some(open) = &mut self.open {
            open.length = at - open.begin;
            if let StepEvent::Complete(step, _) = event {
                if step == open.step {
                    self.complete = Some(open.clone());
                }
            } else {
                ended.extend(self.open.take());
                self.complete = None;
            }
        }
        if let (StepEvent::Begin(step, _), false) = (event, is_complete) {
            let dimensions = vec![Spent::default(); self.reaches.len()];
            self.open = Some(EndedGpuStep { step, begin: at, dimensions, ..EndedGpuStep::default() });
        }
    }

    fn go(&mut self, to: i64) {
        let (computation, reaches, open) = (&mut self.computation, &self.reaches, &mut self.open);
        self.sweep.go(to, |stretch| {
            if let Some(open) = open {
                let computed = divide(reaches, stretch, computation, &mut open.dimensions);
                open.add(stretch, computed);
            }
        });
    }
}

impl EndedGpuStep {
    fn add(&mut self, stretch: GpuStretch, computed: i64) {
        let length = stretch.to - stretch.from;
        let [length_ns, computed_ns, unknown_ns] = [length, computed, stretch.not_compared].map(i64::unsigned_abs);
        let alone = length_ns - computed_ns;
        let budget = &mut self.budget;
        budget.total_ns += length_ns;
        budget.not_compared_ns += unknown_ns;
        match stretch.doing {
            Doing::Waiting => {
                self.wait += length;
                (budget.waiting_ns, budget.overlapped_ns) =
                    (budget.waiting_ns + alone, budget.overlapped_ns + computed_ns);
            }
            Doing::Transferring => {
                budget.transferring_ns += alone;
                budget.overlapped_ns += computed_ns;
            }
            Doing::Nothing => {
                budget.idle_ns += alone;
                budget.computing_ns += computed_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls whose times go backwards by less than 128 calls lose nothing; one that comes later counts from then on.
    #[test]
    fn calls_wait_for_their_place_in_time() {
        let mut queue = GpuQueue::new(1, Computation::default());
        let mut ended = vec![];
        queue.event(StepEvent::Begin(0, 0), &mut ended);
        for call in (0..1000i64).map(|number| number ^ 63) {
            queue.call([10 * call, 10 * call + 4], Some(1), 0, &mut ended);
        }
        queue.event(StepEvent::Begin(1, 10_500), &mut ended);
        queue.event(StepEvent::Begin(2, 11_000), &mut ended);
        (1100..1400).for_each(|call| queue.call([10 * call, 10 * call + 4], Some(1), 0, &mut ended));
        queue.call([10_400, 10_404], Some(1), 0, &mut ended);
        queue.event(StepEvent::Complete(2, 13_994), &mut ended);
        queue.finish(&mut ended);
        let budgets: Vec<_> =
            ended.iter().map(|of| (of.length, of.budget.waiting_ns, of.budget.transferring_ns)).collect();
        assert_eq!(budgets, [(10_500, 1000, 3000), (500, 0, 0), (2994, 300, 900)]);
        assert_eq!(
            (queue.late, ended[0].dimensions[0]),
            (1, Spent { time: 4000, wait: 1000, beside: 0, exposed: 4000 })
        );
        assert!(ended.iter().all(|of| of.budget.total_ns == of.length as u64));
    }

    /// What belongs to no complete step is in no figure.
    #[test]
    fn a_step_that_is_not_complete_does_not_count() {
        let (mut queue, mut ended) = (GpuQueue::new(1, Computation::default()), vec![]);
        queue.call([0, 50], None, 0, &mut ended);
        queue.event(StepEvent::Begin(0, 100), &mut ended);
        queue.call([100, 150], None, 0, &mut ended);
        queue.event(StepEvent::Leave(200), &mut ended);
        queue.call([200, 250], None, 0, &mut ended);
        queue.event(StepEvent::Begin(1, 300), &mut ended);
        queue.call([300, 350], None, 0, &mut ended);
        queue.finish(&mut ended);
        let [only] = &ended[..] else { panic!("one step: {ended:?}") };
        assert_eq!(
            (only.step, only.length, only.budget.transferring_ns, only.budget.not_compared_ns),
            (0, 100, 50, 50)
        );
    }

    /// The last call of a step may end after the next step's begin: the next step is not complete by that.
    #[test]
    fn a_step_is_complete_by_its_own_calls() {
        let (mut queue, mut ended) = (GpuQueue::new(1, Computation::default()), vec![]);
        queue.event(StepEvent::Begin(0, 0), &mut ended);
        queue.call([0, 200], None, 0, &mut ended);
        queue.event(StepEvent::Complete(0, 200), &mut ended);
        queue.event(StepEvent::Begin(1, 100), &mut ended);
        queue.call([100, 300], None, 0, &mut ended);
        queue.finish(&mut ended);
        assert_eq!(ended.iter().map(|of| (of.step, of.length)).collect::<Vec<_>>(), [(0, 100)]);
    }
}
