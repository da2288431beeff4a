//! The calls of each GPU in the order in which its host enqueued them.

use super::occurrence::JudgedCall;
use std::collections::VecDeque;

/// Most calls of one process that wait.
const MAX_WAITING_OF_PROCESS: usize = 1 << 16;

/// Most calls of all processes that wait.
const MAX_WAITING: usize = 1 << 20;

/// The calls of a GPU that wait: for their verdict, or for a call before them.
#[derive(Debug, Default)]
struct Waiting {
    /// Number of the first one.
    first: u64,
    calls: VecDeque<Option<JudgedCall>>,
}

/// The calls that wait, by GPU.
#[derive(Debug, Default)]
pub(super) struct Order {
    by_gpu: Vec<Waiting>,
    by_process: Vec<usize>,
    count: usize,
    /// Largest number of calls that waited at once.
    pub(super) most: usize,
}

impl Order {
    pub(super) fn new(gpus: usize, processes: usize) -> Self {
        let by_gpu = std::iter::repeat_with(Waiting::default).take(gpus).collect();
        Self { by_gpu, by_process: vec![0; processes], count: 0, most: 0 }
    }

    /// Enters the next call of a GPU, and returns its number.
    pub(super) fn enter(&mut self, process: usize, gpu: usize) -> u64 {
        if let Some(count) = self.by_process.get_mut(process) {
            *count += 1;
        }
        self.count += 1;
        self.most = self.most.max(self.count);
        let Some(waiting) = self.by_gpu.get_mut(gpu) else { return 0 };
        waiting.calls.push_back(None);
        waiting.first + waiting.calls.len() as u64 - 1
    }

    /// Takes in a judged call, and passes all calls of its GPU that wait for nothing any more to `each`.
    pub(super) fn leave(&mut self, process: usize, number: u64, judged: JudgedCall, mut each: impl FnMut(&JudgedCall)) {
        let Some(waiting) = self.by_gpu.get_mut(judged.part.call.gpu) else { return };
        let mut passed = 0;
        if number == waiting.first && !waiting.calls.is_empty() {
            // the usual case: nothing is before it
            each(&judged);
            waiting.calls.pop_front();
            passed = 1;
        } else {
            let place = number.checked_sub(waiting.first).and_then(|place| usize::try_from(place).ok());
            if let Some(place) = place.and_then(|place| waiting.calls.get_mut(place)) {
                *place = Some(judged);
            }
        }
        while passed > 0
            && let Some(Some(judged)) = waiting.calls.front()
        {
            each(judged);
            waiting.calls.pop_front();
            passed += 1;
        }
        waiting.first += passed as u64;
        self.count -= passed;
        if let Some(count) = self.by_process.get_mut(process) {
            *count = count.saturating_sub(passed);
        }
    }

    /// Returns whether no more calls of a process should be read before older ones are decided.
    pub(super) fn is_full(&self, process: usize) -> bool {
        self.count >= MAX_WAITING || self.by_process.get(process).is_some_and(|&count| count >= MAX_WAITING_OF_PROCESS)
    }
}
