//! Exchanges matched over ranks, by their messages: the k-th send from a to b on a communicator belongs to the k-th
//! receive at b from a. All exchanges that messages link are one operation.

use super::held::{CallGroup, HeldCall, Next};
use super::places::CommunicatorMembers;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Number of an exchange of a rank that is under way.
type Id = usize;

/// In place of an exchange that was decided before its partner came.
const GONE: Id = Id::MAX;

/// The messages from a rank to another.
#[derive(Debug, Default)]
struct PairMessages {
    sent: u64,
    received: u64,
    /// The exchanges with the messages of the side that is ahead.
    ahead: VecDeque<Id>,
}

impl PairMessages {
    /// Returns the place among those that are ahead of this side's message with a number; `None` if its partner has
    /// come.
    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.sent.min(self.received))?).ok()
    }
}

/// Exchanges that messages link.
#[derive(Debug, Default)]
struct Linked {
    exchanges: Vec<Id>,
    /// Number of messages whose partner is still to come.
    lacking: usize,
    is_whole: bool,
    /// Place of an exchange, and of its message: the partners of all messages before have come, or never will.
    passed: [usize; 2],
}

/// An exchange of a rank.
#[derive(Debug)]
struct Node {
    age: u64,
    held: Option<HeldCall>,
    /// The exchange that it is linked with; itself in the first one, which has `linked`.
    parent: Id,
    linked: Linked,
}

/// Communicator, sender and receiver.
type MessageWay = (usize, i32, i32);

/// The exchanges under way.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    nodes: Vec<Node>,
    free: Vec<Id>,
    pairs: FxHashMap<MessageWay, PairMessages>,
    /// Ages and exchanges, oldest first. An exchange that was decided stays here until it comes to the front.
    oldest: VecDeque<(u64, Id)>,
}

fn way(held: &HeldCall, peer: i32, is_send: bool) -> MessageWay {
    let (own, communicator) = (held.call.rank, held.call.communicator);
    if is_send { (communicator, own, peer) } else { (communicator, peer, own) }
}

impl Exchanges {
    /// Takes in a rank's exchange and numbers its messages. `age` is larger than those of all calls before. Returns
    /// the exchanges of all ranks if they are complete.
    pub(super) fn add(&mut self, age: u64, team: &CommunicatorMembers, mut held: HeldCall) -> Option<CallGroup> {
        let id = self.free.pop().unwrap_or(self.nodes.len());
        let (mut is_whole, mut lacking, mut partners) = (true, 0, Vec::new());
        let mut messages = std::mem::take(&mut held.call.messages);
        for message in &mut messages {
            let pair = self.pairs.entry(way(&held, message.peer, message.is_send)).or_default();
            let (own, other) =
                if message.is_send { (&mut pair.sent, pair.received) } else { (&mut pair.received, pair.sent) };
            message.number = *own;
            *own += 1;
            if message.number >= other {
                if team.process_of(message.peer).is_some() {
                    pair.ahead.push_back(id);
                    lacking += 1;
                } else {
                    is_whole = false;
                }
            } else {
                match pair.ahead.pop_front() {
                    Some(partner) if partner != GONE => partners.push(partner),
                    _ => is_whole = false,
                }
            }
        }
        held.call.messages = messages;
        let linked = Linked { exchanges: vec![id], lacking, is_whole, passed: [0; 2] };
        let node = Node { age, held: Some(held), parent: id, linked };
        match self.nodes.get_mut(id) {
            Some(free) => *free = node,
            None => self.nodes.push(node),
        }
        self.oldest.push_back((age, id));
        let mut first = id;
        for partner in partners {
            first = self.link(first, partner);
            self.nodes[first].linked.lacking -= 1;
        }
        (self.nodes[first].linked.lacking == 0).then(|| self.decided(first))
    }

    /// Returns the first of the exchanges that an exchange is linked with.
    fn first(&mut self, mut id: Id) -> Id {
        while self.nodes[id].parent != id {
            let parent = self.nodes[id].parent;
            self.nodes[id].parent = self.nodes[parent].parent;
            id = parent;
        }
        id
    }

    /// Links two exchanges, and returns the first one of all.
    fn link(&mut self, one: Id, other: Id) -> Id {
        let (mut one, mut other) = (self.first(one), self.first(other));
        if one == other {
            return one;
        }
        if self.nodes[one].linked.exchanges.len() < self.nodes[other].linked.exchanges.len() {
            std::mem::swap(&mut one, &mut other);
        }
        self.nodes[other].parent = one;
        let smaller = std::mem::take(&mut self.nodes[other].linked);
        let larger = &mut self.nodes[one].linked;
        larger.exchanges.extend(smaller.exchanges);
        larger.lacking += smaller.lacking;
        larger.is_whole &= smaller.is_whole;
        one
    }

    /// Takes out all exchanges that are linked with this first one.
    fn decided(&mut self, first: Id) -> CallGroup {
        let Linked { exchanges, is_whole, .. } = std::mem::take(&mut self.nodes[first].linked);
        let mut calls: Vec<HeldCall> = exchanges.iter().filter_map(|&id| self.nodes[id].held.take()).collect();
        self.free.extend(exchanges);
        calls.sort_by_key(|held| (held.call.rank, held.number));
        CallGroup { calls, is_whole }
    }

    /// Returns the age of the oldest exchange under way.
    pub(super) fn oldest(&mut self) -> Option<u64> {
        while let Some(&(age, id)) = self.oldest.front() {
            if self.nodes.get(id).is_some_and(|node| node.age == age && node.held.is_some()) {
                return Some(age);
            }
            self.oldest.pop_front();
        }
        None
    }

    /// Returns the process that the oldest exchange lacks, or all exchanges that it is linked with if no more will
    /// come, because processes are over.
    pub(super) fn next(&mut self, teams: &[CommunicatorMembers], is_over: impl Fn(usize) -> bool) -> Option<Next> {
        let (_, id) = *self.oldest.front()?;
        let first = self.first(id);
        loop {
            let [exchange, place] = self.nodes[first].linked.passed;
            let Some(&id) = self.nodes[first].linked.exchanges.get(exchange) else { break };
            let held = self.nodes[id].held.as_ref();
            let Some((held, message)) = held.and_then(|held| Some((held, held.call.messages.get(place)?))) else {
                self.nodes[first].linked.passed = [exchange + 1, 0];
                continue;
            };
            let pair = self.pairs.get_mut(&way(held, message.peer, message.is_send));
            let ahead = pair.and_then(|pair| pair.place(message.number).and_then(|place| pair.ahead.get_mut(place)));
            if let Some(ahead) = ahead.filter(|ahead| **ahead == id) {
                let process = teams.get(held.call.communicator).and_then(|team| team.process_of(message.peer));
                if let Some(process) = process.filter(|&process| !is_over(process)) {
                    return Some(Next::Read(process));
                }
                *ahead = GONE;
                let linked = &mut self.nodes[first].linked;
                linked.lacking -= 1;
                linked.is_whole = false;
            }
            self.nodes[first].linked.passed[1] += 1;
        }
        Some(Next::Decided(self.decided(first)))
    }
}
