//! The page of a comparison, read as a browser reads it.

use super::two_runs;
use crate::sample::sample;
use crate::sentences;
use report::answer::{Part, Report, SeriesRow};
use report::compare::{Comparison, THRESHOLD};
use roxmltree::{Document, ParsingOptions};

fn page(before: &Report, after: &Report) -> String {
    let mut comparison = Comparison::compare(["A".into(), "B".into()], [before, after], THRESHOLD).unwrap();
    comparison.answer = sentences::two_runs::answer(&comparison);
    two_runs(&comparison)
}

/// Two runs of this many ranks, in the second of which rank 5 takes half as long again.
fn slowed(ranks: usize) -> [Report; 2] {
    let (mut before, mut after) = (sample(ranks), sample(ranks));
    let row = SeriesRow { function: "AllReduce".into(), medians_us: vec![5.0; 9], ..SeriesRow::default() };
    before.series.rows = vec![row.clone()];
    after.series.rows = vec![row, SeriesRow { function: "<b>".into(), ..SeriesRow::default() }];
    if let Part::Known(stragglers) = &mut after.stragglers
        && let Some(rank) = stragglers.ranks.get_mut(5)
    {
        rank.own_us *= 1.5;
    }
    after.series.lengths_us.iter_mut().for_each(|us| *us *= 1.2);
    [before, after]
}

/// Returns the page's body as XML, which shows that all of its elements are closed.
fn ids(page: &str) -> Vec<String> {
    let (begin, end) = (page.find("<body>").unwrap(), page.find("</body>").unwrap());
    let body = &page[begin..end + "</body>".len()];
    let options = ParsingOptions { nodes_limit: u32::MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(body, options).unwrap();
    let ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).map(str::to_owned).collect();
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len(), "an id is given twice");
    let links = document.descendants().filter_map(|node| node.attribute("href")).filter(|link| link.starts_with('#'));
    assert!(links.clone().count() >= 5 && links.clone().all(|link| ids.iter().any(|id| id == &link[1..])));
    ids
}

#[test]
fn the_answer_comes_first_and_then_pictures_of_steps_and_ranks() {
    for ranks in [8, 48, 49, 200] {
        let [before, after] = slowed(ranks);
        let page = page(&before, &after);
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {ranks} ranks"));
        assert!(place("A step takes 20\u{a0}% longer: ") < place("id=\"steps-chart\""));
        assert!(place("id=\"steps-chart\"") < place("id=\"ranks-chart\""));
        assert!(page.contains("Rank\u{a0}5: its own time grew from"), "{ranks}");
        let ids = ids(&page);
        assert!(["answer", "steps", "ranks", "transfers", "runs"].iter().all(|id| ids.iter().any(|own| own == id)));
        // one in the key, and that of rank 5
        assert_eq!(page.matches("class=\"pull worse\" d").count(), if ranks <= 48 { 2 } else { 0 }, "{ranks}");
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"));
    }
}

#[test]
fn the_page_reaches_for_nothing_outside_and_has_no_script() {
    let [before, after] = slowed(8);
    let page = page(&before, &after);
    for reference in ["http", "src=", "@import", "<link", "<script", "javascript:"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert_eq!(page.matches("url(").count(), page.matches("url(#").count());
}

#[test]
fn a_thousand_ranks_take_less_than_a_megabyte() {
    let [before, after] = slowed(1024);
    let page = page(&before, &after);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    ids(&page);
}

#[test]
fn what_is_not_compared_has_a_reason() {
    let mut after = sample(16);
    after.series.lengths_us.clear();
    after.series.rows = vec![SeriesRow { medians_us: vec![5.0; 9], ..SeriesRow::default() }];
    let mut before = sample(8);
    before.series.rows = after.series.rows.clone();
    let page = page(&before, &after);
    for reason in ["B has no steps.", "the runs have different numbers of ranks."] {
        assert!(page.contains(&format!("</strong>{reason}")), "{reason}");
    }
    ids(&page);
}
