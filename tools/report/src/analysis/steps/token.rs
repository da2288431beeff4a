//! What is compared in a search for repetition: a call as a number.
//!
//! Numbers are made of what is alike on ranks that do the same: a communicator counts by its place among its GPU's
//! communicators, a peer by its distance. So many GPUs share one pattern.

use crate::job::{Job, RankOperation};
use crate::stream::{Call, CallKind};
use common::name::NcclName;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A call as a number, never `u32::MAX`.
pub(crate) type CallToken = u32;

/// How exactly calls are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Communicator, function, count (bytes where it is unknown), type, peer.
    Exact = 0,
    /// The same without counts and bytes. Peers of an exchange with more than two others are left out, too: an
    /// all-to-all sends nothing to a peer whose count is 0.
    WithoutCounts = 1,
}

/// Each GPU's communicators: place in the job, sorted, and number in the order in which the GPU's process made them.
/// Ranks that do the same make theirs in the same order; in the job's order, others lie between.
#[derive(Debug)]
pub(super) struct OwnCommunicators(Vec<Vec<(u32, u32)>>);

impl OwnCommunicators {
    pub(super) fn new(job: &Job) -> Self {
        let mut own = vec![vec![]; job.gpus.len()];
        for (place, communicator) in job.communicators.iter().enumerate() {
            for member in &communicator.members {
                if let Some(own) = own.get_mut(member.gpu) {
                    own.push((member.made, place as u32));
                }
            }
        }
        let numbered = |mut own: Vec<(u64, u32)>| {
            own.sort_unstable();
            let mut numbered: Vec<(u32, u32)> =
                own.into_iter().zip(0..).map(|((_, place), number)| (place, number)).collect();
            numbered.sort_unstable();
            numbered
        };
        Self(own.into_iter().map(numbered).collect())
    }

    /// Returns the number of a communicator among those of its GPU.
    pub(super) fn place(&self, gpu: usize, communicator: usize) -> u32 {
        let own = self.0.get(gpu).map_or(&[][..], |own| &own[..]);
        let found = own.binary_search_by_key(&(communicator as u32), |&(place, _)| place);
        found.ok().and_then(|at| own.get(at)).map_or(u32::MAX, |&(_, number)| number)
    }
}

fn mix(words: impl IntoIterator<Item = u64>) -> u64 {
    let mut hasher = FxHasher::default();
    words.into_iter().for_each(|word| hasher.write_u64(word));
    hasher.finish()
}

fn token(hash: u64) -> CallToken {
    ((hash >> 32) as u32 ^ hash as u32).min(u32::MAX - 1)
}

fn collective(own: u32, function: NcclName, datatype: NcclName, size: u64) -> [CallToken; 2] {
    let what = u64::from(own) << 16 | u64::from(function.bits()) << 8 | u64::from(datatype.bits());
    [token(mix([what, 1, size])), token(mix([what, 2]))]
}

/// An exchange as its messages come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    own: u32,
    /// Sums over the messages, whose order does not matter.
    exact: u64,
    without: u64,
    sends: u32,
    receives: u32,
}

impl Exchange {
    pub(super) fn new(own: u32) -> Self {
        Self { own, exact: 0, without: 0, sends: 0, receives: 0 }
    }

    pub(super) fn add(&mut self, rank: i32, peer: i32, nranks: i32, is_send: bool, bytes: u64) {
        let away = peer.wrapping_sub(rank);
        let away = if nranks > 0 { away.rem_euclid(nranks) } else { away };
        let what = u64::from(away as u32) << 1 | u64::from(is_send);
        self.exact = self.exact.wrapping_add(mix([what, 3, bytes]));
        self.without = self.without.wrapping_add(mix([what, 4]));
        if is_send { self.sends += 1 } else { self.receives += 1 }
    }

    pub(super) fn tokens(&self) -> [CallToken; 2] {
        let own = u64::from(self.own);
        let without = if self.sends.max(self.receives) > 2 { 0 } else { self.without };
        [token(mix([own, 5, self.exact])), token(mix([own, 6, without]))]
    }
}

/// Returns the tokens of a row that is no message.
pub(super) fn of_row(own: u32, row: &RankOperation) -> [CallToken; 2] {
    collective(own, row.function, row.datatype, row.count.unwrap_or(row.bytes))
}

/// Returns the tokens of a call; equal to those of its rows.
pub(super) fn of_call(own: &OwnCommunicators, job: &Job, call: &Call) -> [CallToken; 2] {
    let place = own.place(call.gpu, call.communicator);
    if call.kind == CallKind::Collective && call.messages.is_empty() {
        return collective(place, call.function, call.datatype, call.count.unwrap_or(call.bytes));
    }
    let nranks = job.communicators.get(call.communicator).map_or(0, |communicator| communicator.nranks);
    let mut exchange = Exchange::new(place);
    for message in &call.messages {
        exchange.add(call.rank, message.peer, nranks, message.is_send, message.bytes);
    }
    exchange.tokens()
}
