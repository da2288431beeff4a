//! The picture of the ranks' own times in both runs: for few ranks a dumbbell each, for many a point each.

use super::super::super::sentences::two_runs::{own_time, percent};
use super::super::super::units::{TimeUnit, counted, round, time};
use super::super::draw::{Area, Chart, LegendEntry, Mark, Path, Px, Scale, across, bars_beside, upright};
use super::super::table::PageTable;
use super::why;
use maud::{Markup, Render, html};
use report::compare::{ChangeVerdict, Comparison, RankChanged, Ranks};

/// Largest number of ranks that have a dumbbell each.
const DUMBBELLS: usize = 48;
/// Most ranks of the table.
const ROWS: usize = 200;
/// Most points that are named.
const NAMED: usize = 8;
/// Least share of the longest own time that the axis shows: chance must not look like a change.
const SPAN: f64 = 0.2;

/// Writes the section's content.
pub(super) fn of(comparison: &Comparison) -> Markup {
    html! {
        (why(&comparison.ranks))
        @if let Some(ranks) = comparison.ranks.known() {
            @if ranks.rows.len() <= DUMBBELLS { (dumbbells(ranks)) } @else { (points(ranks, comparison.threshold)) }
        }
    }
}

fn is_worse(row: &RankChanged) -> bool {
    matches!(row.verdict, ChangeVerdict::Worse | ChangeVerdict::Slower)
}

fn described(ranks: &Ranks) -> String {
    let worse: Vec<&str> = ranks.rows.iter().filter(|row| is_worse(row)).map(|row| row.name.as_str()).collect();
    let longer = match worse.as_slice() {
        [] => "No rank's has grown beyond the others'.".to_owned(),
        [first, .., last] if worse.len() > NAMED => {
            format!("{} have grown beyond the others', from {first} to {last}.", counted(worse.len() as u64, "rank"))
        }
        _ => format!("Grown beyond the others': {}.", worse.join(", ")),
    };
    let all = counted(ranks.rows.len() as u64, "rank");
    format!(
        "{all}: {} a step, before and now. The median change is {} %. {longer}",
        own_time(ranks.time),
        percent(ranks.change)
    )
}

fn dumbbells(ranks: &Ranks) -> Markup {
    let rows = &ranks.rows;
    let all = || rows.iter().flat_map(|row| row.own_us);
    let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    let least = least.min(most * (1.0 - SPAN));
    let unit = TimeUnit::of(most);
    let height = if rows.len() <= 16 { 22.0 } else { 16.0 };
    let bottom = 12.0 + height * rows.len() as f64;
    let area = Area { left: 132.0, top: 12.0, right: 860.0, bottom };
    let x = Scale::linear([least / unit.us, most / unit.us], [area.left + 8.0, area.right - 8.0]);
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let drawing = html! {
        (across(area, &x, &format!("{} a step, {}", own_time(ranks.time), unit.name), x.numbers(8)))
        (bars_beside(area, &names, height))
        @for (place, row) in rows.iter().enumerate() {
            @let y = area.top + height * (place as f64 + 0.5);
            @let [before, now] = row.own_us.map(|us| x.at(us / unit.us));
            g {
                title { (row.name) ": before " (time(row.own_us[0])) ", now " (time(row.own_us[1])) ", "
                    (percent(row.change)) " %, " (row.verdict.text()) }
                path.pull.worse[is_worse(row)] d={ "M" (Px(before)) " " (Px(y)) "H" (Px(now)) } {}
                circle.run0 cx=(Px(before)) cy=(Px(y)) r="4.6" {}
                circle.run1 cx=(Px(now)) cy=(Px(y)) r="3.4" {}
            }
        }
    };
    let keys = [
        LegendEntry { class: "run0", mark: Mark::Ring, text: "before".into() },
        LegendEntry { class: "run1", mark: Mark::Ring, text: "now".into() },
        LegendEntry { class: "pull worse", mark: Mark::Plain, text: "grown beyond the others".into() },
    ];
    chart(ranks, [880.0, bottom + 46.0], LegendEntry::draw(&keys), drawing)
}

fn points(ranks: &Ranks, threshold: f64) -> Markup {
    let rows = &ranks.rows;
    let area = Area { left: 64.0, top: 34.0, right: 866.0, bottom: 300.0 };
    let beyond = || rows.iter().map(|row| row.beyond * 100.0);
    let most = beyond().fold(threshold * 150.0, f64::max) * 1.05;
    let least = beyond().fold(-threshold * 100.0, f64::min) * 1.05;
    let x = Scale::linear([0.0, rows.len() as f64], [area.left + 6.0, area.right - 6.0]);
    let y = Scale::linear([least, most], [area.bottom, area.top]);
    let at = |place: usize, row: &RankChanged| (x.at(place as f64 + 0.5), y.at(row.beyond * 100.0));
    let mut paths = [Path::default(), Path::default()];
    for (place, row) in rows.iter().enumerate() {
        let (across, up) = at(place, row);
        paths[usize::from(is_worse(row))].stroke(across, up, 0.0);
    }
    let [usual, worse] = paths;
    let mut grown: Vec<(usize, &RankChanged)> = rows.iter().enumerate().filter(|(_, row)| is_worse(row)).collect();
    grown.sort_by(|(_, one), (_, other)| other.beyond.total_cmp(&one.beyond));
    let marks =
        x.counts(10).into_iter().filter_map(|(value, _)| Some((value + 0.5, rows.get(value as usize)?.name.clone())));
    let limit = y.at(threshold * 100.0);
    let drawing = html! {
        (across(area, &x, "ranks in their order", marks))
        (upright(area, &y, &format!("change of the {} beyond the others', %", own_time(ranks.time)), y.numbers(6)))
        path.zero d={ "M" (Px(area.left)) " " (Px(y.at(0.0))) "H" (Px(area.right)) } {}
        path.limit d={ "M" (Px(area.left)) " " (Px(limit)) "H" (Px(area.right)) } {}
        path.points d=(usual.data()) {}
        path.points.worse d=(worse.data()) {}
        @for (place, row) in grown.into_iter().take(NAMED) {
            @let (across, up) = at(place, row);
            @let is_right = across > 740.0;
            text.over x=(Px(if is_right { across - 8.0 } else { across + 8.0 })) y=(Px(up + 4.0))
                text-anchor=(if is_right { "end" } else { "start" }) { (row.name) }
        }
    };
    let keys = [
        LegendEntry {
            class: "limit",
            mark: Mark::Plain,
            text: format!("the threshold, {} %", round(threshold * 100.0)),
        },
        LegendEntry { class: "points worse", mark: Mark::Plain, text: "grown beyond the others".into() },
    ];
    chart(ranks, [880.0, area.bottom + 46.0], LegendEntry::draw(&keys), drawing)
}

fn chart(ranks: &Ranks, size: [f64; 2], key: Markup, drawing: Markup) -> Markup {
    Chart {
        id: "ranks-chart",
        title: "Own times of the ranks",
        look: "Look for one rank, or the ranks of one node, that went another way than all others: all others wait for \
               a rank whose own time has grown.",
        description: described(ranks),
        size,
        key,
        drawing,
        notes: html! {},
        below: html! { (table(ranks)) },
    }
    .render()
}

fn table(ranks: &Ranks) -> PageTable {
    let mut rows: Vec<&RankChanged> = ranks.rows.iter().collect();
    rows.sort_by(|one, other| one.verdict.cmp(&other.verdict).then(other.beyond.abs().total_cmp(&one.beyond.abs())));
    let caption = match rows.len() {
        all if all > ROWS => format!("Own times of the {ROWS} ranks that changed most"),
        _ => "Own times of the ranks".to_owned(),
    };
    let rows = rows.into_iter().take(ROWS).map(|row| {
        let [before, now] = row.own_us.map(time);
        let [change, others] = [row.change, row.others].map(|change| format!("{} %", percent(change)));
        vec![row.name.clone(), row.node.clone(), row.verdict.text().to_owned(), before, now, change, others]
    });
    PageTable::new(caption, &["rank", "node", "verdict", "before", "now", "change", "change of the others"], 3, rows)
}
