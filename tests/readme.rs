//! The README's tables are the code's.

use common::config::SETTINGS;
use common::metric::{DEFAULT, Fixed, SERIES, counters};

const README: &str = include_str!("../README.md");

#[test]
fn every_general_counter_and_series_is_in_the_readme_with_its_unit() {
    for counter in &counters()[..=Fixed::ApiTime as usize] {
        let row = format!("| `{}` | {} |", counter.name, counter.unit.to_string_lossy());
        assert!(README.contains(&row), "{row}");
    }
    for series in SERIES {
        let name = format!("`{}`", series.name);
        let unit = format!("| {} |", series.unit.to_string_lossy());
        assert!(README.lines().any(|line| line.contains(&name) && line.contains(&unit)), "{name} {unit}");
    }
}

#[test]
fn the_readme_tells_what_is_shown_by_default() {
    let names = DEFAULT.map(|counter| format!("`{}`", counters()[counter as usize].name)).join(", ");
    assert!(README.contains(&format!("`default` for {names};")), "{names}");
}

#[test]
fn every_setting_is_in_the_readme_as_the_code_tells_it() {
    for setting in SETTINGS {
        let row = format!("| `{}` | {} | {} |", setting.name, setting.default, setting.meaning);
        assert!(README.contains(&row), "{row}");
    }
}
