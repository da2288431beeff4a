//! The table of one process, as its rows become calls.

use super::call::{self, Call};
use super::clocks::CommonClock;
use super::exchange::{Exchange, ExchangeNames, MAX_ROWS_BETWEEN};
use super::held::HeldCall;
use super::order::Order;
use super::places::{MatchingPlace, Places};
use crate::job::{ProcessOperations, Unreadable};

/// The operations of a process that were not read yet.
pub(super) struct TableReading<'a> {
    process: usize,
    /// `None` once all were read.
    rows: Option<ProcessOperations<'a>>,
    count: u64,
    /// Exchanges to which more may come, oldest first.
    open: Vec<Exchange>,
}

/// A row, or the end of a table.
pub(super) enum TableRow {
    Operation,
    /// An operation of a communicator that the job does not know. It is in no call.
    Foreign,
    /// There are no more.
    End,
}

impl<'a> TableReading<'a> {
    pub(super) fn new(process: usize, rows: ProcessOperations<'a>) -> Self {
        Self { process, rows: Some(rows), count: 0, open: Vec::new() }
    }

    /// Returns whether all operations were read.
    pub(super) fn is_over(&self) -> bool {
        self.rows.is_none()
    }

    /// Reads a row, and passes the calls that are complete now to `each`.
    pub(super) fn read(
        &mut self,
        (places, clocks, names): (&Places, &CommonClock, &ExchangeNames),
        order: &mut Order,
        mut each: impl FnMut(&mut Order, MatchingPlace, HeldCall),
    ) -> Result<TableRow, Unreadable> {
        let Some(row) = self.rows.as_mut().and_then(Iterator::next) else {
            self.rows = None;
            for exchange in self.open.drain(..) {
                each(order, exchange.place, ended(exchange, self.process, names));
            }
            return Ok(TableRow::End);
        };
        let row = row?;
        self.count += 1;
        let Some(place) = places.of_operation(self.process, row.comm, row.rank) else {
            return Ok(TableRow::Foreign);
        };
        let count = self.count;
        if !self.open.is_empty() {
            self.open.iter_mut().filter(|it| !it.has(place, &row)).for_each(|exchange| exchange.meet(place, &row));
            let is_ended = |it: &mut Exchange| it.is_ended_by(place, &row) || count - it.last > MAX_ROWS_BETWEEN;
            for exchange in self.open.extract_if(.., is_ended) {
                each(order, exchange.place, ended(exchange, self.process, names));
            }
        }
        if row.is_message() {
            let open = match self.open.iter_mut().position(|it| it.has(place, &row)) {
                Some(open) => self.open.get_mut(open),
                None => {
                    let number = order.enter(self.process, place.gpu);
                    let exchange = Exchange::new(place, number, &row, clocks.time(self.process, row.enqueued));
                    self.open.push(exchange);
                    self.open.last_mut()
                }
            };
            if let Some(open) = open {
                open.add(&row, count, names);
            }
        } else {
            let number = order.enter(self.process, place.gpu);
            let call: Call = call::call(place, &row, clocks.time(self.process, row.enqueued));
            each(order, place, HeldCall { call, process: self.process, number });
        }
        Ok(TableRow::Operation)
    }
}

fn ended(exchange: Exchange, process: usize, names: &ExchangeNames) -> HeldCall {
    let number = exchange.number;
    HeldCall { call: exchange.into_call(names), process, number }
}
