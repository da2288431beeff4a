//! The tables about the network: speed, pairs, communicators.

use super::super::chapter::Chapter;
use super::Sheet;
use super::names::{gpu, origin};
use super::rows::ColumnRows;
use crate::answer::{Communicators, Pairs, Report, Speed};

pub(super) fn speed(speed: &Speed) -> Sheet {
    ColumnRows::new(Chapter::Speed.name(), &speed.rows)
        .text("function", |row| &row.function)
        .text("communicator", |row| &row.comm)
        .integer("ranks", |row| Some(row.nranks.into()))
        .text("dimension", |row| &row.dimension)
        .count("from_bytes", |row| row.from_bytes)
        .count("to_bytes", |row| row.to_bytes)
        .text("algorithm", |row| &row.algorithm)
        .text("protocol", |row| &row.protocol)
        .count("count", |row| row.count)
        .count("compared", |row| row.compared)
        .known_real("min_us", |row| row.min_us)
        .known_real("median_us", |row| row.median_us)
        .known_real("p95_us", |row| row.p95_us)
        .known_real("max_us", |row| row.max_us)
        .known_real("mean_us", |row| row.mean_us)
        .known_real("algbw_gb_s", |row| row.algbw)
        .known_real("busbw_gb_s", |row| row.busbw)
        .known_real("busbw_mean_gb_s", |row| row.busbw_mean)
        .known_real("imbalance", |row| row.imbalance)
        .known_real("busiest_gb_s", |row| row.busiest)
        .known_real("utilisation", |row| row.utilisation)
        .sheet()
}

pub(super) fn pairs(pairs: &Pairs, report: &Report) -> Sheet {
    ColumnRows::new(Chapter::Pairs.name(), &pairs.rows)
        .text("communicator", |row| &row.comm)
        .integer("rank", |row| Some(row.rank.into()))
        .integer("peer", |row| Some(row.peer.into()))
        .known_text("from_gpu", |row| gpu(report, row.from?))
        .known_text("to_gpu", |row| gpu(report, row.to?))
        .text("class", |row| &row.class)
        .count("transfers", |row| row.transfers)
        .count("bytes", |row| row.bytes)
        .known_real("sustained_gb_s", |row| row.sustained)
        .known_real("typical_gb_s", |row| row.typical)
        .known_real("fitted_gb_s", |row| row.fitted)
        .known_real("latency_us", |row| row.latency_us)
        .count("messages", |row| row.messages)
        .count("message_bytes", |row| row.message_bytes)
        .known_real("late_sender_us", |row| row.late_sender_us)
        .known_real("late_receiver_us", |row| row.late_receiver_us)
        .known_real("z", |row| row.z)
        .flag("slow", |row| row.slow)
        .sheet()
}

pub(super) fn communicators(communicators: &Communicators) -> Sheet {
    ColumnRows::new(Chapter::Communicators.name(), &communicators.rows)
        .text("communicator", |row| &row.comm)
        .text("name", |row| &row.name)
        .integer("ranks", |row| Some(row.nranks.into()))
        .count("found", |row| row.here)
        .integer("nodes", |row| Some(i64::from(row.nnodes)).filter(|&nodes| nodes > 0))
        .text("members", |row| &row.members)
        .known_real("made_us", |row| row.made_us)
        .known_real("init_us", |row| row.init_us)
        .known_text("parent", |row| row.parent.clone())
        .text("dimension", |row| &row.dimension.name)
        .text("origin", |row| origin(row.dimension.origin))
        .count("operations", |row| row.operations)
        .count("bytes", |row| row.bytes)
        .sheet()
}
