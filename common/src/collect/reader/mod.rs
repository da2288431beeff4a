//! Reads a window's slots as they fill, and takes the window apart when it is closed.
//!
//! Each event is reported twice, when it has begun and when it has stopped or is given up; or once, if both are seen at
//! the same time.

#[cfg(test)]
mod tests;

use crate::clock::monotonic;
use crate::collect::pulse;
use crate::record::grace::Graces;
use crate::record::pool::{self, BLOCK_SLOTS, Block, Pool};
use crate::record::slot::{Slot, SlotContent};
use crate::record::window::{Window, WindowState};

/// The receiver of a reader's events.
pub(crate) trait Listener {
    /// Takes an event that was seen to have begun.
    fn begun(&mut self, pool: &Pool, event: &SlotContent);
    /// Takes the stop of an event that was seen to have begun before.
    fn ended(&mut self, event: &SlotContent);
    /// Takes an event that was seen to have begun and stopped at the same time.
    fn passed(&mut self, pool: &Pool, event: &SlotContent);
    /// Returns whether the event's stop is still waited for. Asked of events that have begun and not stopped.
    fn awaits(&mut self, handle: u64) -> bool;
    /// Takes an event whose stop will not be seen any more.
    fn abandoned(&mut self, event: &SlotContent);
}

/// Least time for which a window that takes no more children waits before it is taken apart, nanoseconds. Its last
/// children may have begun right before, however long the window has waited already.
const LAST_PATIENCE: u64 = 250_000_000;

#[derive(Debug, Clone, Copy)]
struct Cursor {
    block: u32,
    generation: u32,
    /// Places before this one were seen.
    next: u32,
    /// Begin of the event at place `next`, once a round left it unread.
    begin: Option<u64>,
}

impl Cursor {
    /// Returns the unread slots of its block if the block is full; then slots are only updated.
    fn full<'p>(&self, pool: &'p Pool) -> &'p [Slot] {
        let slots = pool.slots(self.block);
        let full = slots.last().is_some_and(|slot| slot.is_of(self.generation));
        slots.get(self.next as usize..).filter(|_| full).unwrap_or_default()
    }
}

#[derive(Debug)]
enum Phase {
    Open,
    /// Waits for the end of the grace period of this number, and for the window's events until the deadline.
    Closing {
        grace: u64,
        deadline: u64,
    },
    Processing {
        grace: u64,
        deadline: u64,
    },
}

/// A window as the collector reads it.
#[derive(Debug)]
pub(crate) struct WindowReader {
    /// Blocks that are not wholly read, oldest first.
    cursors: Vec<Cursor>,
    /// All known blocks, to be given back.
    blocks: Vec<u32>,
    newest: Option<u32>,
    /// Block, place and generation of events that have begun and not stopped.
    open: Vec<(u32, u32, u32)>,
    /// Whether blocks were left unread for want of time.
    behind: bool,
    phase: Phase,
}

impl Default for WindowReader {
    fn default() -> Self {
        Self {
            cursors: Vec::new(),
            blocks: Vec::new(),
            newest: None,
            open: Vec::new(),
            behind: false,
            phase: Phase::Open,
        }
    }
}

impl WindowReader {
    /// Reports what happened since the last call: all stops of events seen before, and about the `most` oldest new
    /// events. Subtracts the number of new events from `most`. Returns the begin of the first event left unread, if
    /// there is one.
    pub(crate) fn read(
        &mut self,
        pool: &Pool,
        window: &Window,
        most: &mut u32,
        listener: &mut impl Listener,
    ) -> Option<u64> {
        self.find_new_blocks(pool, window);
        let before = self.open.len();
        let mut read = 0;
        for index in 0..self.cursors.len() {
            if *most == 0 {
                break;
            }
            let coming = self.cursors.get(index + 1).map_or_else(Default::default, |coming| coming.full(pool));
            let cursor = &mut self.cursors[index];
            let from = cursor.next;
            pulse::beat();
            let slots = pool.slots(cursor.block).get(from as usize..).unwrap_or_default();
            // counted first: slots come from other processors' caches, and this many are fetched at once
            let filled = slots.iter().take_while(|slot| slot.is_of(cursor.generation)).count();
            for (place, slot) in slots[..filled].iter().enumerate() {
                // fetches the next block while this one is taken in
                if let Some(coming) = coming.get(place) {
                    coming.fetch();
                }
                let Some(event) = slot.read(cursor.generation) else { break };
                if event.stop.is_some() {
                    listener.passed(pool, &event);
                } else {
                    listener.begun(pool, &event);
                    self.open.push((cursor.block, cursor.next, cursor.generation));
                }
                cursor.next += 1;
            }
            cursor.begin = None;
            *most = most.saturating_sub(cursor.next - from);
            read += 1;
        }
        // a thread may be interrupted between reading the clock and taking a block: any block left may have the first
        // event
        let first = |left: &mut Cursor| {
            if left.begin.is_none() {
                left.begin = Some(pool.slot(left.block, left.next)?.begun(left.generation)?);
            }
            left.begin
        };
        let begin = self.cursors[read..].iter_mut().filter_map(first).min();
        self.behind = begin.is_some();
        self.cursors.retain(|cursor| cursor.next < BLOCK_SLOTS);
        self.look_again(pool, before, listener);
        begin
    }

    /// Reports which of the first `count` open events have stopped since.
    fn look_again(&mut self, pool: &Pool, count: usize, listener: &mut impl Listener) {
        let over = |&mut (block, place, generation): &mut (u32, u32, u32)| {
            let Some(event) = pool.slot(block, place).and_then(|slot| slot.read(generation)) else { return true };
            if event.stop.is_some() {
                listener.ended(&event);
            }
            event.stop.is_some() || !listener.awaits(event.handle)
        };
        self.open.extract_if(..count, over).for_each(drop);
        pulse::beat();
    }

    fn find_new_blocks(&mut self, pool: &Pool, window: &Window) {
        let newest = window.newest();
        let known = self.blocks.len();
        let mut next = newest;
        while let Some(block) = next.filter(|&block| Some(block) != self.newest) {
            let Some(entry) = pool.block(block) else { break };
            self.blocks.push(block);
            next = Some(entry.next()).filter(|&next| next != pool::NONE);
        }
        self.newest = newest;
        self.blocks[known..].reverse();
        let cursor =
            |&block: &u32| Some(Cursor { block, generation: pool.block(block)?.generation(), next: 0, begin: None });
        self.cursors.extend(self.blocks[known..].iter().filter_map(cursor));
    }

    /// Returns how many events its blocks hold, read or not. Not all figures have them before the window is taken apart.
    pub(crate) fn held(&self, pool: &Pool) -> u64 {
        let filled = |&block: &u32| {
            let generation = pool.block(block).map(Block::generation)?;
            Some(pool.slots(block).iter().take_while(|slot| slot.is_of(generation)).count() as u64)
        };
        self.blocks.iter().filter_map(filled).sum()
    }

    /// Returns whether every event was seen and has stopped.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty() && !self.behind
    }

    /// Goes on with closing the window, after [`WindowReader::read`]. Returns whether it is done, with the window
    /// READY. Gives up events that have not stopped `patience` nanoseconds after the closing began; at once, with a
    /// patience of 0. Must be called again when a grace period that it has asked for has begun.
    pub(crate) fn close(
        &mut self,
        pool: &Pool,
        window: &Window,
        patience: u64,
        graces: &mut Graces,
        listener: &mut impl Listener,
    ) -> bool {
        if window.state() == WindowState::Closing && matches!(self.phase, Phase::Open) {
            self.phase = Phase::Closing { grace: graces.ask(), deadline: monotonic().saturating_add(patience) };
        }
        if let Phase::Closing { grace, deadline } = &mut self.phase {
            *deadline = (*deadline).min(monotonic().saturating_add(patience));
            let late = monotonic() >= *deadline;
            if self.behind || !(graces.is_over(*grace) && (self.open.is_empty() || late)) {
                return false;
            }
            window.change(WindowState::Closing, WindowState::Processing);
            let last = monotonic().saturating_add(patience.min(LAST_PATIENCE));
            self.phase = Phase::Processing { grace: graces.ask(), deadline: (*deadline).max(last) };
        }
        if let Phase::Processing { grace, deadline } = &mut self.phase {
            if !graces.is_over(*grace) {
                return false;
            }
            *deadline = (*deadline).min(monotonic().saturating_add(patience));
            let late = monotonic() >= *deadline;
            // no callback can start an event here any more: no later read finds new events
            let mut all = u32::MAX;
            self.read(pool, window, &mut all, listener);
            if !(self.open.is_empty() || late) {
                return false;
            }
            self.take_apart(pool, window, listener);
            return true;
        }
        false
    }

    fn take_apart(&mut self, pool: &Pool, window: &Window, listener: &mut impl Listener) {
        for (block, place, generation) in self.open.drain(..) {
            if let Some((slot, event)) = pool.slot(block, place).and_then(|slot| Some((slot, slot.read(generation)?))) {
                match event.stop {
                    Some(_) => listener.ended(&event),
                    None => listener.abandoned(&event),
                }
                // a later report of the event comes too late
                slot.stop(generation, event.start);
            }
        }
        window.clear();
        self.blocks.drain(..).for_each(|block| pool.give_back(block));
        *self = Self::default();
        window.change(WindowState::Processing, WindowState::Ready);
    }
}
