//! Where start callbacks went: each is in a figure or in a counter, once.

/// Children of the operations that a host of many threads made, at most one kernel channel and one proxy operation
/// each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Children {
    /// Kernel channels that got a handle.
    pub(crate) kernels: u64,
    /// Proxy operations that did.
    pub(crate) proxies: u64,
    /// Steps that did.
    pub(crate) steps: u64,
    /// Steps whose proxy operation had none.
    pub(crate) parentless: u64,
}

impl Children {
    /// What does not add up; `found` are the summary's figures by name.
    pub(crate) fn wrong(self, found: impl Fn(&str) -> u64) -> Vec<String> {
        let Self { kernels, proxies, steps, parentless } = self;
        let operations = found("operations");
        let mut wrong = Vec::new();
        let mut hold = |right: bool, what: &str| {
            if !right {
                wrong.push(what.to_owned());
            }
        };
        // operations alone are refused for their context
        let not_recorded = found("dropped") + found("ignored_handles") + parentless;
        hold(
            found("events") == operations + kernels + proxies + steps + not_recorded,
            "events are lost or counted twice",
        );
        // a child that comes when its operation was settled already is an orphan, and does not time it
        let late = found("orphans").checked_sub(parentless);
        hold(late.is_some(), "children without a parent are not counted");
        let late = late.unwrap_or(0);
        let within = |value: u64, most: u64| value <= most && most <= value + late;
        hold(within(found("gpu_timed") + found("out_of_step"), kernels), "kernel channels time no operation");
        let by_children = operations - found("enqueue_timed");
        hold(by_children + late >= kernels.max(proxies) - found("out_of_step"), "children time no operation");
        hold(by_children <= kernels + proxies, "operations are timed by nothing");
        wrong
    }
}
