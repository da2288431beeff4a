//! The size of the page of a large job.

use super::super::html;
use crate::sample::sample;
use report::answer::{Part, SpeedRow, SwimBar, SwimLane};

#[test]
fn a_page_of_1024_ranks_and_1000_steps_is_below_3_mb() {
    let mut report = sample(1024);
    // the heat map and the swim lanes as full as they may be
    let Part::Known(late) = &mut report.late else { unreachable!() };
    for (row, bins) in late.map.rows.iter_mut().enumerate() {
        *bins = (0..1000).map(|bin| ((row * 31 + bin * 17) % 97) as f32 / 97.0).collect();
    }
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    for (row, bins) in stragglers.map.rows.iter_mut().enumerate() {
        *bins = (0..1000).map(|bin| 40.0 * (((row * 31 + bin * 17) % 97) as f32 - 48.0)).collect();
    }
    let Part::Known(conditions) = &mut report.conditions else { unreachable!() };
    let map = &mut conditions.map;
    for (nth, bins) in [&mut map.waiting, &mut map.sm_clock, &mut map.power].into_iter().flatten().enumerate() {
        *bins = (0..120).map(|bin| Some(((nth * 31 + bin * 17) % 97) as f32 / 97.0)).collect();
    }
    let Part::Known(steps) = &mut report.steps else { unreachable!() };
    (steps.count, steps.lengths_us) = (1000, steps.lengths_us.iter().copied().cycle().take(1000).collect());
    let Part::Known(swim) = &mut report.swim else { unreachable!() };
    fill(&mut swim.lanes);
    fill(&mut swim.usual.as_mut().unwrap().lanes);
    let Part::Known(speed) = &mut report.speed else { unreachable!() };
    let sized = |row: &SpeedRow| {
        let of = |power: u32| SpeedRow {
            from_bytes: 1 << power,
            forced: Some("NCCL_P2P_DISABLE=1 (the GPUs have NVLinks)".into()),
            ..row.clone()
        };
        (0..16).map(of).collect::<Vec<_>>()
    };
    speed.rows = speed.rows.iter().flat_map(sized).collect();
    let Part::Known(findings) = &mut report.findings else { unreachable!() };
    findings.rows = findings.rows.iter().cycle().take(20_000).cloned().collect();
    let page = html(&report);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(page.contains("19,950 more rows"));
    assert!(page.contains("all 1,024\u{a0}ranks"));
}

/// Divides the calls of a step until there are 20,000.
fn fill(lanes: &mut [SwimLane]) {
    let calls: usize = lanes.iter().map(|lane| lane.bars.len()).sum();
    for lane in lanes {
        let pieces = 20_000 / calls;
        let cut = |bar: &SwimBar| {
            let length = (bar.stop_us - bar.start_us) / pieces as f64;
            let piece = |nth: usize| SwimBar {
                start_us: bar.start_us + length * nth as f64,
                wait_until_us: Some(bar.start_us + length * (nth as f64 + 0.3)),
                stop_us: bar.start_us + length * (nth as f64 + 0.9),
                ..bar.clone()
            };
            (0..pieces).map(piece).collect::<Vec<_>>()
        };
        lane.bars = lane.bars.iter().flat_map(cut).collect();
    }
}
