//! Calls of NCCL's API that have not returned.
//!
//! A thread's cell has the time at which the thread entered the API, and nothing else of the call: so nothing is added
//! to the callbacks. A call's event has the same time as its start. The end of a group has no event: it belongs to the
//! communicator of the last call before it.

use super::Standing;
use crate::clock::wall::Wall;
use crate::record::thread::ThreadCell;
use crate::status;

/// Times at which threads entered the API and have not returned, ticks, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct InApi(Vec<u64>);

impl InApi {
    /// Looks at all threads.
    pub(crate) fn now() -> Self {
        let mut since: Vec<u64> = ThreadCell::all().filter_map(ThreadCell::in_api_since).collect();
        since.sort_unstable();
        Self(since)
    }

    /// Gives each call to its communicator: returns the calls of each standing, in the order of `all`.
    pub(crate) fn of(&self, all: &[&Standing], wall: Wall) -> Vec<Vec<status::OpenCall>> {
        let mut calls: Vec<Vec<status::OpenCall>> = all.iter().map(|_| Vec::new()).collect();
        for &since in &self.0 {
            let entered = |standing: &&Standing| {
                let entry = standing.entries.iter().find(|entry| entry.call != 0 && entry.entered.max(1) == since);
                entry.map(|entry| entry.function.text())
            };
            let own = all.iter().enumerate().find_map(|(place, standing)| Some((place, entered(standing)?)));
            let of_group = || {
                let last = |(place, standing): (usize, &&Standing)| Some((standing.last_call_before(since)?, place));
                let (_, place) = all.iter().enumerate().filter_map(last).max()?;
                Some((place, "GroupEnd".to_owned()))
            };
            if let Some((place, func)) = own.or_else(of_group)
                && let Some(calls) = calls.get_mut(place)
            {
                calls.push(status::OpenCall { func, since: wall.at(since) });
            }
        }
        calls
    }
}
