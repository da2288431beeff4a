//! The section on steps: their lengths one after the other and as a distribution, with outliers, shifts and pauses, and
//! the slowest ones.

use super::super::names::ReportNames;
use super::super::tables;
use super::super::units::{TimeUnit, count, counted, share, time};
use super::draw::{Area, Chart, LegendEntry, Mark, Path, Px, Scale, across, upright};
use super::section::{absent, part};
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::answer::{Report, StepSource, Steps, StragglerPause};

const AREA: Area = Area { left: 64.0, top: 34.0, right: 716.0, bottom: 250.0 };
/// Where the distribution lies, on the same axis of lengths.
const BESIDE: Area = Area { left: 736.0, top: 34.0, right: 866.0, bottom: 250.0 };
/// Bins of the distribution.
const BINS: usize = 36;

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    let events = report.stragglers.known().map_or(&[][..], |stragglers| &stragglers.events);
    part("steps", "How long steps take", &report.steps, |steps| lengths(steps, events, report, names))
}

/// Says how the steps were found.
fn found(steps: &Steps) -> String {
    let source = match &steps.source {
        StepSource::Region(name) => format!("by the region {name}"),
        StepSource::File(name) => format!("by the times in {name}"),
        StepSource::Repetition => "as the operations' smallest period".into(),
        StepSource::RepetitionWithoutCounts => "as the operations' smallest period without their counts".into(),
    };
    let period = steps.period.map_or_else(String::new, |number| format!(" of {} a GPU", counted(number, "operation")));
    let micro = steps.micro.map_or_else(String::new, |micro| format!(" of {} each", counted(micro, "micro-step")));
    let warm_up = match steps.warm_up {
        0 => String::new(),
        number => format!(" behind {} of warm-up", counted(number, "step")),
    };
    format!(
        "{}{micro}{warm_up}, found {source}{period}; {} of the operations lie in steps. A step takes {} (median; \
         mean {}, 99th percentile {}).",
        counted(steps.count, "step"),
        share(steps.covered),
        time(steps.median_us),
        time(steps.mean_us),
        time(steps.p99_us)
    )
}

fn lengths(steps: &Steps, events: &[StragglerPause], report: &Report, names: &ReportNames<'_>) -> Markup {
    if steps.lengths_us.is_empty() {
        return html! { (absent("no step has a length.")) p { (found(steps)) } };
    }
    // a chart that shows the longest step of a job that hung once shows nothing of the others
    let longest = steps.lengths_us.iter().copied().fold(0.0, f64::max);
    let top = longest.min((2.0 * steps.p99_us).min(3.0 * steps.median_us).max(1.5 * steps.median_us)).max(1e-3) * 1.06;
    let unit = TimeUnit::of(top);
    let y = Scale::linear([0.0, top / unit.us], [AREA.bottom, AREA.top]);
    let x = Scale::linear([0.0, steps.count.max(2) as f64 - 1.0], [AREA.left + 6.0, AREA.right - 6.0]);
    let in_bin = tables::steps_in_length(steps) as f64;
    let at = |place: usize| place as f64 * in_bin;
    let height = |step: u64| steps.lengths_us.get((step as f64 / in_bin) as usize).copied();
    let point = |(place, us): (usize, &f64)| (x.at(at(place)), y.at(us / unit.us));
    let mut line = Path::default();
    line.line(steps.lengths_us.iter().enumerate().map(point));
    let median = y.at(steps.median_us / unit.us);
    let cut = steps.lengths_us.iter().filter(|us| **us > top).count();
    let paused: Vec<(&StragglerPause, f64)> =
        events.iter().filter_map(|event| Some((event, height(event.step)?))).take(200).collect();
    let drawing = html! {
        (across(AREA, &x, "step behind the warm-up, number", x.counts(10)))
        (upright(AREA, &y, &format!("length of a step, mean over GPUs, {}", unit.name), y.numbers(5)))
        @for shift in &steps.shifts {
            path.shift d={ "M" (Px(x.at(shift.step as f64))) " " (Px(AREA.top)) "V" (Px(AREA.bottom)) } {
                title { "from step " (shift.step) " on: " (time(shift.from_us)) " to " (time(shift.to_us)) }
            }
        }
        (distribution(steps, top, &y))
        path.median d={ "M" (Px(AREA.left)) " " (Px(median)) "H" (Px(BESIDE.right)) } {}
        path.length d=(line.data()) {}
        @if steps.lengths_us.len() <= 200 {
            @for (place, us) in steps.lengths_us.iter().enumerate() {
                circle.dot cx=(Px(x.at(at(place)))) cy=(Px(y.at(us / unit.us))) r="2" {
                    title { "step " (at(place)) ": " (time(*us)) }
                }
            }
        }
        @for (step, us) in steps.outliers.iter().take(500).filter_map(|step| Some((*step, height(*step)?))) {
            circle.outlier cx=(Px(x.at(step as f64))) cy=(Px(y.at(us / unit.us))) r="6" {
                title { "outlier: step " (step) ", " (time(us)) }
            }
        }
    };
    let drawing = html! {
        (drawing)
        @for (event, us) in &paused {
            @let (x, y) = (x.at(event.step as f64), y.at(us / unit.us));
            path.pause d={ "M" (Px(x)) " " (Px(y - 8.0)) "l4.5 -8h-9z" } {
                title { (names.gpu(event.gpu)) " paused " (time(event.excess_us)) " in step " (count(event.step)) }
            }
        }
    };
    let mut keys = vec![
        LegendEntry { class: "length", mark: Mark::Plain, text: "length".into() },
        LegendEntry { class: "median", mark: Mark::Plain, text: format!("median, {}", time(steps.median_us)) },
    ];
    let signs = [
        ("outlier", Mark::Ring, steps.outliers.len()),
        ("shift", Mark::Upright, steps.shifts.len()),
        ("pause", Mark::Wedge, paused.len()),
    ];
    for (class, mark, number) in signs.into_iter().filter(|(.., number)| *number > 0) {
        keys.push(LegendEntry { class, mark, text: counted(number as u64, class) });
    }
    Chart {
        id: "steps-chart",
        title: "Length of the steps",
        look: "Look for rings, steps far longer than the others, and for dashed upright lines, from which on all steps \
               take longer or shorter.",
        description: format!(
            "Lengths of {} in their order. Median {}, longest {}. {} and {}.",
            counted(steps.count, "step"),
            time(steps.median_us),
            time(longest),
            counted(steps.outliers.len() as u64, "outlier"),
            counted(steps.shifts.len() as u64, "shift")
        ),
        size: [880.0, 294.0],
        key: LegendEntry::draw(&keys),
        drawing,
        notes: html! {
            p { (found(steps)) }
            @if in_bin > 1.0 { p { "Each point is the longest of " (count(in_bin as u64)) " neighbouring steps." } }
            @if cut > 0 {
                p {
                    (counted(cut as u64, "point")) " above the chart's upper edge; the longest is " (time(longest)) "."
                }
            }
        },
        below: html! {
            (PageTable::of("The slowest steps", &tables::slowest(steps, report, names)).without_unknown())
            (shifts(steps))
            (PageTable::of("Length of the steps", &tables::lengths(steps)).without_unknown())
        },
    }
    .render()
}

/// Draws how many steps have which length, at the right of the steps.
fn distribution(steps: &Steps, top: f64, y: &Scale) -> Markup {
    let mut bins = [0_u64; BINS];
    for us in &steps.lengths_us {
        let place = ((us / top).clamp(0.0, 1.0) * BINS as f64) as usize;
        if let Some(bin) = bins.get_mut(place.min(BINS - 1)) {
            *bin += 1;
        }
    }
    let most = bins.iter().copied().max().unwrap_or(0).max(1) as f64;
    let x = Scale::linear([0.0, most], [BESIDE.left, BESIDE.right]);
    let height = BESIDE.height() / BINS as f64;
    let unit = TimeUnit::of(top);
    let bound = |bin: usize| top * bin as f64 / BINS as f64;
    html! {
        (across(BESIDE, &x, "number of steps", x.counts(2)))
        @for (bin, number) in bins.iter().enumerate().filter(|(_, number)| **number > 0) {
            rect.column x=(Px(BESIDE.left)) y=(Px(y.at(bound(bin + 1) / unit.us) + 0.5))
                width=(Px((x.at(*number as f64) - BESIDE.left).max(1.0))) height=(Px(height - 1.0)) {
                title { (counted(*number, "step")) " of " (time(bound(bin))) " to " (time(bound(bin + 1))) }
            }
        }
    }
}

fn shifts(steps: &Steps) -> PageTable {
    let rows = steps.shifts.iter().map(|shift| {
        let change = shift.to_us / shift.from_us - 1.0;
        let sign = if change < 0.0 { "-" } else { "+" };
        vec![count(shift.step), time(shift.from_us), time(shift.to_us), format!("{sign}{}", share(change.abs()))]
    });
    PageTable::new(
        "Shifts of the steps' length",
        &["from step", "median of 10 before", "median of 10 from it on", "change"],
        0,
        rows,
    )
}
