//! The parts of the sample that are about time: steps, budget, phases, and who is late.

use super::groups::Groups;
use super::scale::{CALLS, LATE, STEP_US, STEPS};
use report::answer::{
    Breakdown, Budget, CallRates, DimensionShare, GpuBreakdown, GpuBudget, Late, LengthShift, Origin, PhaseWindow,
    Phases, RankLate, RankLaunches, SlowStep, Spread, StepSource, Steps, WaitMap, WorstOperation,
};

/// What a rank waits in a step, microseconds.
const WAIT_US: f64 = 700.0;
/// Rows of lists.
const TOP: usize = 10;

fn late_rank(groups: &Groups) -> usize {
    LATE.min(groups.ranks - 1)
}

/// Returns a number of 0 to 1 that looks random.
fn noise(of: usize) -> f64 {
    (of as u32).wrapping_mul(2_654_435_761) as f64 / f64::from(u32::MAX)
}

fn waits_us(groups: &Groups, gpu: usize) -> f64 {
    if gpu == late_rank(groups) { 15.0 } else { WAIT_US * (0.9 + 0.2 * noise(gpu)) }
}

pub(super) fn steps(groups: &Groups) -> Steps {
    let length = |step: usize| match step {
        31 => STEP_US * 1.3,
        40.. => STEP_US * (1.12 + 0.005 * noise(step)),
        _ => STEP_US * (0.995 + 0.01 * noise(step)),
    };
    let lengths: Vec<f64> = (0..STEPS as usize).map(length).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by(|one, other| lengths[*other].total_cmp(&lengths[*one]));
    let slow = |&step: &usize| SlowStep {
        step: step as u64,
        length_us: lengths[step],
        wait_us: Some(WAIT_US + lengths[step] - STEP_US * 0.99),
        waited_for: Some((late_rank(groups), "AllReduce".to_owned())),
        cost_us: Some(500.0 * (groups.ranks - 1) as f64),
    };
    Steps {
        source: StepSource::Repetition,
        covered: 0.997,
        period: Some(CALLS),
        micro: None,
        warm_up: 3,
        count: STEPS,
        mean_us: lengths.iter().sum::<f64>() / STEPS as f64,
        median_us: lengths[order[order.len() / 2]],
        p99_us: lengths[order[0]],
        slowest: order.iter().take(TOP).map(slow).collect(),
        outliers: vec![31],
        shifts: vec![LengthShift { step: 40, from_us: STEP_US, to_us: STEP_US * 1.122 }],
        lengths_us: lengths,
    }
}

pub(super) fn budget(groups: &Groups) -> Budget {
    let nanoseconds = |share: f64| (share * 1e3 * STEPS as f64) as u64;
    let gpu = |gpu: usize| {
        let total_ns = nanoseconds(STEP_US);
        let waiting_ns = nanoseconds(waits_us(groups, gpu) * 0.9);
        let transferring_ns = nanoseconds(2100.0 + 60.0 * noise(gpu));
        let overlapped_ns = nanoseconds(3300.0 + 200.0 * noise(gpu + 1));
        let computing_ns = nanoseconds(12_500.0 + 400.0 * noise(gpu + 2));
        let rest = waiting_ns + transferring_ns + overlapped_ns + computing_ns;
        GpuBudget {
            total_ns,
            waiting_ns,
            transferring_ns,
            overlapped_ns,
            computing_ns,
            idle_ns: total_ns - rest,
            not_compared_ns: 20_000,
        }
    };
    let gpus: Vec<GpuBudget> = (0..groups.ranks).map(gpu).collect();
    let whole = gpus.iter().fold(GpuBudget::default(), |sum, gpu| GpuBudget {
        total_ns: sum.total_ns + gpu.total_ns,
        waiting_ns: sum.waiting_ns + gpu.waiting_ns,
        transferring_ns: sum.transferring_ns + gpu.transferring_ns,
        overlapped_ns: sum.overlapped_ns + gpu.overlapped_ns,
        computing_ns: sum.computing_ns + gpu.computing_ns,
        idle_ns: sum.idle_ns + gpu.idle_ns,
        not_compared_ns: sum.not_compared_ns + gpu.not_compared_ns,
    });
    let dimension = |name: &str, time_us, bytes, operations, share| DimensionShare {
        dimension: name.to_owned(),
        origin: if name == "unknown" { Origin::Unknown } else { Origin::Guessed },
        time_us,
        wait_us: Some(time_us * 0.11),
        bytes,
        operations,
        while_active: Some(Spread { mean: share, p95: share * 1.05 }),
        of_step: Some(Spread { mean: share * time_us / STEP_US, p95: share * time_us / STEP_US * 1.1 }),
        overlap: Some(0.5),
        calls: CallRates {
            count: (operations * STEPS as f64) as u64 * groups.ranks as u64,
            algbw: Some(Spread { mean: share * 25.0, p95: share * 27.0 }),
            busbw: Some(Spread { mean: share * 50.0, p95: share * 54.0 }),
            of_link: Some(Spread { mean: share, p95: share * 1.08 }),
        },
    };
    let dimensions = vec![
        dimension("DP", 3600.0, f64::from(128 << 20), 2.0, 0.78),
        dimension("TP", 2450.0, f64::from(64 << 20), 16.0, 0.83),
        dimension("unknown", 55.0, 8.0, 1.0, 0.0001),
    ];
    let of_gpu = |gpu: &GpuBudget| {
        let exposed = gpu.waiting_ns + gpu.transferring_ns;
        let [tp, unknown] = [exposed / 3, exposed / 100];
        GpuBreakdown { has_kernels: true, exposed_ns: vec![exposed - tp - unknown, tp, unknown] }
    };
    let breakdown = Breakdown {
        dimensions: ["DP", "TP", "unknown"].map(str::to_owned).to_vec(),
        gpus: gpus.iter().map(of_gpu).collect(),
    };
    Budget {
        breakdown,
        computed: Some(1.0),
        of_steps: true,
        steps: STEPS,
        with_kernels: true,
        whole,
        gpus,
        overlap: Some(0.55),
        dimensions,
        timed: 1.0,
        unplaced_us: 0.0,
    }
}

pub(super) fn phases(groups: &Groups) -> Phases {
    let window = |from: &str, to: &str, median_us: f64| PhaseWindow {
        from: from.to_owned(),
        to: to.to_owned(),
        count: STEPS * groups.ranks as u64,
        mean_us: median_us * 1.1,
        median_us,
        p95_us: median_us.abs() * 2.0,
        negative: if median_us < 0.0 { 0.8 } else { 0.02 },
        bins: (0..40_u32).map(|bin| (median_us - 200.0 + 20.0 * f64::from(bin), 100 / (1 + u64::from(bin)))).collect(),
    };
    Phases { windows: vec![window("TP", "DP", 410.0), window("DP", "TP", 1250.0), window("DP", "unknown", -35.0)] }
}

pub(super) fn late(groups: &Groups) -> Late {
    let others = (groups.ranks - 1) as f64;
    let steps = STEPS as f64;
    let rank = |gpu: usize| {
        let (last, cost_us, own) = match gpu.checked_sub(late_rank(groups)) {
            Some(0) => (STEPS, 600.0 * others * steps, 0.8),
            Some(1) => (STEPS / 2, 80.0 * others * steps, 0.1),
            _ => (1, 0.2 * others * noise(gpu), 1.0),
        };
        RankLate {
            calls: CALLS * STEPS,
            wait_us: waits_us(groups, gpu) * steps,
            wait_error_us: 0.02 * waits_us(groups, gpu) * steps,
            last,
            cost_us,
            own_us: Some(cost_us * own),
            propagated_us: Some(cost_us * (1.0 - own)),
            launches: Some(RankLaunches {
                host_later: STEPS * CALLS / 4,
                gpu_later: 3 * STEPS * CALLS / 4,
                queued_us: 240.0 * (STEPS * CALLS) as f64,
                queued_median_us: Some(210.0 + noise(gpu)),
                host_cost_us: cost_us * 0.3,
                gpu_cost_us: cost_us * 0.6,
            }),
        }
    };
    let data = groups.list.last();
    let worst = |nth: usize| WorstOperation {
        comm: data.map(|group| group.id()).unwrap_or_default(),
        function: "AllReduce".to_owned(),
        sequence: Some((2 * nth as u64, 0)),
        bytes: 64 << 20,
        time_us: STEP_US * nth as f64,
        gpu: late_rank(groups),
        late_us: 900.0 - 20.0 * nth as f64,
        cost_us: (910.0 - 20.0 * nth as f64) * others,
        propagated: Some(nth % 5 == 4),
        before: Some(("ReduceScatter".to_owned(), groups.list[0].id(), 6.0)),
    };
    let compared: u64 = groups.list.iter().map(|group| group.calls * STEPS).sum();
    let gpus_in_row = groups.ranks.div_ceil(256);
    let row = |row: usize| {
        (0..200).map(|bin| (waits_us(groups, row * gpus_in_row) / STEP_US * (0.5 + noise(row + bin))) as f32).collect()
    };
    Late {
        steps: STEPS,
        ranks: (0..groups.ranks).map(rank).collect(),
        compared,
        resolved: compared / 3,
        worst: (0..TOP).map(worst).collect(),
        lateness: Vec::new(),
        map: WaitMap {
            begin_us: 0.0,
            bin_us: STEP_US * steps / 200.0,
            gpus_in_row: gpus_in_row as u64,
            rows: (0..groups.ranks.div_ceil(gpus_in_row)).map(row).collect(),
        },
    }
}
