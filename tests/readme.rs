//! The documentation's tables equal the code's.

use common::config::SETTINGS;
use common::metric::{DEFAULT, GENERAL, Owner, SERIES, counters};
use common::name::FUNCTIONS;
use report::table::COLUMNS;

const METRICS: &str = include_str!("../docs/metrics.md");
const SETTINGS_PAGE: &str = include_str!("../docs/settings.md");
const LANES: &str = include_str!("../scorep-substrate/src/lanes/writer.rs");
const REPORT: &str = include_str!("../docs/report.md");
const CALLS: &str = include_str!("../tools/present/src/sheet/operations.rs");

#[test]
fn every_general_counter_is_among_the_metrics_as_the_code_tells_it() {
    let (general, of_functions) = counters().split_at(GENERAL);
    for counter in general {
        let owner = if counter.owner == Owner::Thread { "thread" } else { "process" };
        let row = format!("| `{}` | {} | {owner} |", counter.name, counter.unit.to_string_lossy());
        let meaning = format!("| {} |", counter.description.to_string_lossy());
        assert!(METRICS.lines().any(|line| line.starts_with(&row) && line.ends_with(&meaning)), "{row}{meaning}");
    }
    let names = FUNCTIONS.map(str::to_lowercase);
    assert!(METRICS.contains(&format!("{} and {}", names[..9].join(", "), names[9])));
    assert_eq!(of_functions.len(), 3 * names.len());
}

#[test]
fn every_series_is_among_the_metrics_with_its_unit() {
    for series in SERIES {
        let [peer, other] =
            [(series.by_peer, "`#N@P`"), (series.of_other, "`#other`")].map(|(has, name)| if has { name } else { "" });
        let of = ["`#N`", peer, other].into_iter().filter(|of| !of.is_empty()).collect::<Vec<_>>().join(", ");
        let row = format!("| `{}` | {of} | {} |", series.name, series.unit.to_string_lossy());
        assert!(METRICS.lines().any(|line| line.starts_with(&row)), "{row}");
    }
}

/// The names are in the sources that write lanes, each behind `c"`.
#[test]
fn every_counter_and_attribute_of_a_lane_is_among_the_metrics() {
    let names = LANES.split("c\"nccl_").skip(1).filter_map(|rest| rest.split('"').next());
    let names: Vec<String> = names.map(|name| format!("`nccl_{name}`")).collect();
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        assert!(METRICS.lines().any(|line| line.starts_with("| `nccl_") && line.contains(&name)), "{name}");
    }
}

#[test]
fn the_metrics_tell_what_is_shown_by_default() {
    let names = DEFAULT.map(|counter| format!("`{}`", counters()[counter as usize].name)).join(", ");
    let metrics = METRICS.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(metrics.contains(&format!("`default` for {names};")), "{names}");
}

#[test]
fn every_setting_is_among_the_settings_as_the_code_tells_it() {
    let rows = SETTINGS_PAGE.lines().filter(|line| line.starts_with("| `NCCL_SCOREP_"));
    let code =
        SETTINGS.iter().map(|setting| format!("| `{}` | {} | {} |", setting.name, setting.default, setting.meaning));
    assert!(rows.eq(code), "docs/settings.md has not the rows of common/src/config/table.rs");
}

/// Returns the names in the first column of the first table behind these words.
fn first_column<'a>(page: &'a str, words: &str) -> Vec<&'a str> {
    let (_, rest) = page.split_once(words).unwrap();
    let rows = rest.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2);
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_column_of_the_operations_table_is_in_the_page_of_the_report() {
    let mut documented = first_column(REPORT, "## Large jobs");
    let mut columns: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    documented.sort_unstable();
    columns.sort_unstable();
    assert_eq!(documented, columns);
}

/// The names are in the source that makes the rows, each the first argument of a call.
#[test]
fn every_column_of_the_calls_table_is_in_the_page_of_the_report() {
    let (_, rows) = CALLS.split_once("ReportTable::new(NAME, rows)").unwrap();
    let (rows, _) = rows.split_once(".sheet()").unwrap();
    let names = rows.split("(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut columns: Vec<&str> = names.filter(|name| !name.contains('{')).collect();
    let mut documented = first_column(REPORT, "`operations` has one row a call of a rank");
    documented.sort_unstable();
    columns.sort_unstable();
    assert!(columns.len() > 20);
    assert_eq!(documented, columns);
}
