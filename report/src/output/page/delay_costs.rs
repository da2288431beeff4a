//! Delay costs by GPU: the others' waits for it, because of its own delays or of those that it passed on.

use super::super::names::ReportNames;
use super::super::sentences::latest;
use super::super::tables;
use super::super::units::{TimeUnit, counted, share, time};
use super::draw::{Area, Chart, LegendEntry, Mark, Px, Scale, across, bars_beside, margin};
use super::table::PageTable;
use crate::analysis::verdict::Pace;
use crate::answer::{Late, RankLate, Report};
use maud::{Markup, Render, html};

/// Largest number of GPUs in the chart.
const TOP: usize = 12;
/// Height of a bar with the room around it.
const ROW: f64 = 24.0;

/// Writes the chart and its table.
pub(super) fn delay_costs(late: &Late, report: &Report, names: &ReportNames<'_>) -> Markup {
    let pace = &Pace::of(report);
    let order = latest(late);
    let has_own = late.ranks.iter().any(|rank| rank.own_us.is_some());
    let caption = format!(
        "Delay cost and waits {}, largest {}cost first; a cost is the sum of the others' waits",
        period(pace),
        if has_own { "own " } else { "" }
    );
    let below = PageTable::of(caption, &tables::waits(late, report, names)).without_unknown().render();
    // bars that could not be seen only take room
    let visible = order.iter().map(|(_, rank)| rank.cost_us).fold(0.0, f64::max) / 500.0;
    let shown: Vec<(usize, &RankLate)> =
        order.iter().filter(|(_, rank)| rank.cost_us >= visible).take(TOP).copied().collect();
    let Some((first, largest)) = shown.first() else {
        return html! { p { "No rank was last by more than the clocks' error." } (below) };
    };
    let key = |class, text: &str| LegendEntry { class, mark: Mark::Box, text: text.into() };
    let keys = if has_own {
        vec![
            key("own", "own: the delay began with this GPU"),
            key("passed", "passed on: the GPU had waited itself before"),
        ]
    } else {
        vec![key("passed", "own or passed on")]
    };
    let (look, parts, largest_us) = match largest.own_us {
        Some(own_us) => (
            "Look for a long solid bar: that GPU begins its operations late without having waited itself.",
            ["Delay cost, own and passed on,", "own cost"],
            own_us,
        ),
        None => ("Look for a long bar: others wait for that GPU most.", ["Delay cost", "cost"], largest.cost_us),
    };
    let further = order.len() - shown.len();
    Chart {
        id: "late-chart",
        title: "For whom others waited",
        look,
        description: format!(
            "{} of {} that others waited for longest: the other ranks' waits, summed, {}. The largest {} is that of {}, \
             {}.",
            parts[0],
            counted(shown.len() as u64, "GPU"),
            period(pace),
            parts[1],
            names.gpu(*first),
            time(pace.a_step(largest_us))
        ),
        size: [880.0, bottom(&shown) + 46.0],
        key: LegendEntry::draw(&keys),
        drawing: bars(&shown, names, pace),
        notes: html! {
            @if further > 0 {
                p { "Others waited less for " (counted(further as u64, "further GPU")) "; the table has them all." }
            }
        },
        below,
    }
    .render()
}

/// Returns the length of time that costs are written for.
fn period(pace: &Pace) -> &'static str {
    if pace.of_steps { "a step" } else { "in the whole recording" }
}

fn bottom(shown: &[(usize, &RankLate)]) -> f64 {
    10.0 + ROW * shown.len() as f64
}

fn bars(shown: &[(usize, &RankLate)], names: &ReportNames<'_>, pace: &Pace) -> Markup {
    let most = shown.iter().map(|(_, rank)| pace.a_step(rank.cost_us)).fold(0.0, f64::max);
    let unit = TimeUnit::of(most);
    let area = Area { left: margin(names.all()), top: 10.0, right: 710.0, bottom: bottom(shown) };
    let x = Scale::linear([0.0, most / unit.us], [area.left, area.right]);
    let texts: Vec<String> = shown.iter().map(|(place, _)| names.gpu(*place)).collect();
    let title = format!("waits of the other ranks for this GPU, summed, {}, {}", period(pace), unit.name);
    let facts = |us: f64| match pace.share(us) {
        Some(part) if pace.of_steps => format!("{} ({} of all ranks' time)", time(us), share(part)),
        _ => time(us),
    };
    html! {
        (across(area, &x, &title, x.numbers(8)))
        (bars_beside(area, &texts, ROW))
        @for (place, ((_, rank), name)) in shown.iter().zip(&texts).enumerate() {
            @let y = area.top + ROW * (place as f64 + 0.14);
            @let cost_us = pace.a_step(rank.cost_us);
            @let own_us = rank.own_us.map(|us| pace.a_step(us));
            @let (own, end) = (x.at(own_us.unwrap_or_default() / unit.us), x.at(cost_us / unit.us));
            @if let Some(own_us) = own_us {
                rect.own x=(Px(area.left)) y=(Px(y)) width=(Px(own - area.left)) height=(Px(ROW * 0.72)) {
                    title { (name) ": " (facts(own_us)) " because of its own delays" }
                }
            }
            rect.passed x=(Px(own)) y=(Px(y)) width=(Px(end - own)) height=(Px(ROW * 0.72)) {
                title {
                    (name) ": " (facts(cost_us - own_us.unwrap_or_default()))
                    (if own_us.is_some() { " passed on" } else { " because of its own delays or passed on" })
                }
            }
            text x=(Px(end + 6.0)) y=(Px(y + ROW * 0.36 + 4.0)) { (facts(cost_us)) }
        }
    }
}
