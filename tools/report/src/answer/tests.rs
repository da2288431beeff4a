//! Tests of the report, with the invented one.

use super::Report;
use crate::sample::sample;

#[test]
fn the_times_of_each_gpu_add_up() {
    for ranks in [1, 2, 4, 8, 1024] {
        let report = sample(ranks);
        let budget = report.budget.known().unwrap();
        assert_eq!((budget.gpus.len(), report.gpus.len()), (ranks, ranks));
        for gpu in budget.gpus.iter().chain([&budget.whole]) {
            let parts = [gpu.waiting_ns, gpu.transferring_ns, gpu.overlapped_ns, gpu.computing_ns, gpu.idle_ns];
            assert_eq!(parts.iter().sum::<u64>(), gpu.total_ns);
        }
        let late = report.late.known().unwrap();
        for rank in &late.ranks {
            let sum = rank.own_us.zip(rank.propagated_us).map(|(own, passed_on)| own + passed_on);
            assert!(sum.is_some_and(|sum| (sum - rank.cost_us).abs() < 1e-3), "{rank:?}");
        }
        assert_eq!(sample(ranks), report);
    }
}

#[test]
fn it_survives_json() {
    let report = sample(4);
    let text = serde_json::to_string(&report).unwrap();
    let read: Report = serde_json::from_str(&text).unwrap();
    // a number may come back with another last digit
    assert_eq!((read.complete, read.pairs.known().unwrap().rows.len()), (report.complete, 8));
    assert_eq!(read.communicators.known().unwrap().rows[1].members, "0-1");
}
