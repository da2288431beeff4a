//! The section on the conditions of the processes: clocks, power and waits for processors over time.

use super::super::names::ReportNames;
use super::super::sentences::about_conditions;
use super::super::tables;
use super::super::units::{TimeUnit, counted, known, share, time};
use super::draw::{Cells, Chart, LegendEntry, Mark};
use super::heat::{HeatFigures, HeatMap};
use super::section::part;
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::answer::{ConditionMap, Report};

/// Largest number of rows of a map; of more, neighbours share one.
const ROWS: usize = 128;
/// Largest number of cells of a map; of more bins, neighbours share one.
const CELLS: usize = 4096;
/// Largest number of ranks in the table.
const TOP: usize = 100;

/// A condition that is drawn over time. Its figures are shares.
struct Drawn {
    id: &'static str,
    title: &'static str,
    /// Headings of the mean, of the extreme and of its time.
    headings: [&'static str; 3],
    look: &'static str,
    /// The figure in words.
    of: &'static str,
    rows: fn(&ConditionMap) -> &[Vec<Option<f32>>],
    /// Bounds of the levels, percent, from the first level on. They are the same in each report, so that two can be
    /// compared.
    bounds: [f64; 8],
    /// Whether the small figures have the strong colours.
    falls: bool,
    /// Said where no figure reaches the first level.
    calm: &'static str,
}

const DRAWN: [Drawn; 3] = [
    Drawn {
        id: "clock-chart",
        title: "Clock of the GPUs over time",
        headings: ["mean clock", "least clock", "least clock at"],
        look: "Look for a row that is darker than the others, which is a GPU that is slower, and for one that turns dark.",
        of: "Clock of the multiprocessors, as a share of its maximum",
        rows: |map| &map.sm_clock,
        bounds: [98.0, 95.0, 90.0, 85.0, 80.0, 70.0, 60.0, 50.0],
        falls: true,
        calm: "At no time was a clock of the multiprocessors at 98 % of its maximum or below.",
    },
    Drawn {
        id: "power-chart",
        title: "Power of the GPUs over time",
        headings: ["mean power", "most power", "most power at"],
        look: "Look for rows in the strongest colour, which are GPUs at the limit of their power, and for a blank one, \
               which is a GPU with little work.",
        of: "Power of the GPU, as a share of its limit",
        rows: |map| &map.power,
        bounds: [30.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0],
        falls: false,
        calm: "At no time did a GPU take 30 % of the power that it may take.",
    },
    Drawn {
        id: "processor-chart",
        title: "Waits for a processor over time",
        headings: ["mean waiting", "most waiting", "most waiting at"],
        look: "Look for a coloured row among blank ones, which is a rank that shares its processors with others.",
        of: "Share of the time for which launching threads waited for a processor, mean of them",
        rows: |map| &map.waiting,
        bounds: [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 70.0],
        falls: false,
        calm: "At no time did launching threads wait 0.5 % of the time for a processor.",
    },
];

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("conditions", "Conditions", &report.conditions, |conditions| {
        let map = &conditions.map;
        html! {
            @for drawn in &DRAWN { (drawn.chart(map, report, names)) }
            (over_time(map, names))
            details.help {
                summary { "What the table below has" }
                p { (about_conditions(conditions)) }
            }
            (PageTable::of(
                "Conditions by rank, those that stand out first, then those that wait longest",
                &tables::conditions(conditions, report, names)
            ).first(TOP))
        }
    })
}

/// Figures over time, as they are drawn: rows and columns are few enough for a page.
struct Course {
    /// No number where nothing is known.
    rows: Vec<Vec<f32>>,
    /// Neighbouring GPUs of a row.
    gpus: usize,
    bin_us: f64,
}

impl Course {
    fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }
}

impl Drawn {
    fn course(&self, map: &ConditionMap) -> Course {
        let rows = (self.rows)(map);
        let bins = rows.iter().map(Vec::len).max().unwrap_or(0);
        let beside = rows.len().div_ceil(ROWS).max(1);
        let in_turn = bins.div_ceil(CELLS / rows.len().div_ceil(beside).max(1)).max(1);
        let mean = |row: &Vec<Option<f32>>| row.chunks(in_turn).map(|bins| mean(bins.iter().copied())).collect();
        let means: Vec<Vec<Option<f32>>> = rows.iter().map(mean).collect();
        let joined = |rows: &[Vec<Option<f32>>]| {
            let of_column = |column: usize| rows.iter().filter_map(move |row| *row.get(column)?);
            (0..bins.div_ceil(in_turn))
                .map(|it| of_column(it).reduce(|a, b| self.farther(a, b)).unwrap_or(f32::NAN))
                .collect()
        };
        let gpus = usize::try_from(map.gpus_in_row).unwrap_or(1).max(1);
        Course {
            rows: means.chunks(beside).map(joined).collect(),
            gpus: gpus.saturating_mul(beside),
            bin_us: map.bin_us * in_turn as f64,
        }
    }

    /// Returns the figure that is worth a look, of two.
    fn farther(&self, one: f32, other: f32) -> f32 {
        if self.falls { one.min(other) } else { one.max(other) }
    }

    /// Returns the figure of a row that is worth a look, with its column.
    fn farthest(&self, bins: &[f32]) -> Option<(usize, f32)> {
        let known = bins.iter().copied().enumerate().filter(|(_, it)| it.is_finite());
        known.reduce(|best, it| if self.farther(best.1, it.1) == best.1 { best } else { it })
    }

    /// Draws the figure over time; nothing if no GPU has it.
    fn chart(&self, map: &ConditionMap, report: &Report, names: &ReportNames<'_>) -> Markup {
        let course = self.course(map);
        let Course { rows, gpus, bin_us } = &course;
        let of_rows: Vec<f32> = rows.iter().map(|bins| self.farthest(bins).map_or(f32::NAN, |(_, it)| it)).collect();
        let Some((row, farthest)) = self.farthest(&of_rows) else { return html! {} };
        if self.level(farthest) == 0 {
            return html! { h3 { (self.title) } p { (self.calm) } };
        }
        let length_us = bin_us * course.columns() as f64;
        let unit = TimeUnit::of(length_us);
        let heat = HeatMap { names, gpus: *gpus, rows, end: length_us / unit.us };
        let found = report.stragglers.known().map_or(&[][..], |stragglers| &stragglers.found);
        let found = heat.rows_of(found.iter().flat_map(|one| &one.gpus));
        let wedge = LegendEntry { class: "found", mark: Mark::Wedge, text: "a row of ranks that stand out".into() };
        let figures = HeatFigures {
            title: format!("time since the recording's begin, {}", unit.name),
            marks: heat.x().numbers(8),
            across: Some(unit.name),
            unit: "%",
            one: 100.0,
        };
        let is_partly_known = rows.iter().flatten().any(|it| !it.is_finite());
        let (sign, extreme) = if self.falls { ("≤", "smallest") } else { ("≥", "largest") };
        Chart {
            id: self.id,
            title: self.title,
            look: self.look,
            description: format!(
                "{}, of {} in bins of {}. The {extreme} is {}, of {}.",
                self.of,
                counted(names.len() as u64, "GPU"),
                time(*bin_us),
                share(f64::from(farthest)),
                names.gpus(row * gpus, *gpus)
            ),
            size: heat.size(),
            key: html! {
                p.note { (self.of) ":" }
                (Cells::key(&self.bounds.map(|bound| format!("{sign} {bound} %"))))
                @if !found.is_empty() { (LegendEntry::draw(&[wedge])) }
            },
            drawing: heat.draw(figures, &found, |share| self.level(*share)),
            notes: html! {
                @if *gpus > 1 {
                    p { "A row has the " (extreme) " figure of " (gpus) " neighbouring GPUs, and the name of the first." }
                }
                @if is_partly_known { p { "Where nothing is known, the map is blank, too." } }
            },
            below: html! {},
        }
        .render()
    }

    fn level(&self, share: f32) -> i8 {
        // 0.98 has other digits than 98 % at its end
        let percent = (f64::from(share) * 1e6).round() / 1e4;
        let is_reached = |bound: &&f64| if self.falls { percent <= **bound } else { percent >= **bound };
        self.bounds.iter().take_while(is_reached).count() as i8
    }
}

/// Writes the figures of all maps as text.
fn over_time(map: &ConditionMap, names: &ReportNames<'_>) -> PageTable {
    let courses = DRAWN.each_ref().map(|drawn| (drawn, drawn.course(map)));
    let rows = courses.iter().map(|(_, course)| course.rows.len()).max().unwrap_or(0);
    let gpus = courses.iter().map(|(_, course)| course.gpus).max().unwrap_or(1);
    let cells = |row: usize, (drawn, course): &(&Drawn, Course)| {
        let bins = course.rows.get(row).map_or(&[][..], Vec::as_slice);
        let farthest = drawn.farthest(bins);
        let mean = mean(bins.iter().map(|it| Some(*it).filter(|it| it.is_finite())));
        [
            known(mean, |it| share(it.into())),
            known(farthest, |(_, it)| share(it.into())),
            known(farthest, |(bin, _)| time(bin as f64 * course.bin_us)),
        ]
    };
    let row = |row: usize| {
        [names.gpus(row * gpus, gpus)].into_iter().chain(courses.iter().flat_map(|it| cells(row, it))).collect()
    };
    let headings: Vec<&str> = ["GPU"].into_iter().chain(DRAWN.iter().flat_map(|drawn| drawn.headings)).collect();
    PageTable::new("Conditions over time", &headings, 1, (0..rows).map(row)).without_unknown()
}

/// Returns the mean of the values that are known.
fn mean(values: impl Iterator<Item = Option<f32>>) -> Option<f32> {
    let [sum, count] = values.flatten().fold([0.0; 2], |[sum, count], it| [sum + f64::from(it), count + 1.0]);
    (count > 0.0).then(|| (sum / count) as f32)
}
