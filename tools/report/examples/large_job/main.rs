//! Writes the operations' tables of a made job, for measurements of `scorep-nccl report`:
//! `cargo run --release -p scorep-nccl-report --example large_job -- DIR RANKS OPERATIONS`.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

mod large;

use large::Large;
use report::job::OperationTables;
use report::table::{About, MadeCommunicator, TableWriter};
use std::path::PathBuf;

fn main() {
    let mut words = std::env::args().skip(1);
    let directory = PathBuf::from(words.next().unwrap());
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (ranks, operations) = (number() as usize, number());
    let large = Large::new(ranks, operations);
    for (place, process) in large.job.processes.iter().enumerate() {
        let mut writer = TableWriter::create(&directory, &process.id).unwrap();
        large.operations(place).unwrap().for_each(|row| writer.push(&row.unwrap()).unwrap());
        let of = |communicator: &report::job::Communicator| {
            let member = communicator.members.iter().find(|member| member.gpu == place)?;
            Some(MadeCommunicator {
                comm: format!("{:016x}", communicator.comm),
                name: communicator.name.clone(),
                nranks: communicator.nranks,
                nnodes: communicator.nnodes,
                rank: member.rank,
                made: member.made,
            })
        };
        let communicators = large.job.communicators.iter().filter_map(of).collect();
        writer.finish(&About { process: process.clone(), communicators, summary: None, conditions: vec![] }).unwrap();
    }
}
