//! The page of the sample and of reports with absent parts and hostile names, read as a browser reads it.

mod answers;
mod conditions;
mod size;

use super::html;
use crate::sample::sample;
use crate::sentences;
use report::answer::{Communicators, Part, Report, ReportedCommunicator, TaggedOperations, Tags};
use roxmltree::{Document, Node, ParsingOptions};

/// Returns the page's body without its script as XML: all of its elements but `input` are closed.
fn body(page: &str) -> String {
    let (begin, end) = (page.find("<body>").unwrap(), page.find("<script>").unwrap());
    let mut pieces = page[begin..end].split("<input");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |body, piece| body + "<input" + &piece.replacen('>', "/>", 1)) + "</body>"
}

fn parsed(body: &str) -> Document<'_> {
    Document::parse_with_options(body, ParsingOptions { nodes_limit: u32::MAX, ..ParsingOptions::default() }).unwrap()
}

fn of<'a>(document: &'a Document<'_>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(name))
}

/// Returns all text below a node.
fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|node| node.is_text().then(|| node.text()).flatten()).collect()
}

fn without_all_parts(reason: &str) -> Report {
    let absent = reason.to_owned();
    let report = Report {
        steps: Part::Absent(absent.clone()),
        budget: Part::Absent(absent.clone()),
        phases: Part::Absent(absent.clone()),
        stragglers: Part::Absent(absent.clone()),
        conditions: Part::Absent(absent.clone()),
        findings: Part::Absent(absent.clone()),
        late: Part::Absent(absent.clone()),
        speed: Part::Absent(absent.clone()),
        pairs: Part::Absent(absent.clone()),
        transfers: Part::Absent(absent.clone()),
        communicators: Part::Absent(absent.clone()),
        tags: Part::Absent(absent.clone()),
        unfinished: Part::Absent(absent.clone()),
        swim: Part::Absent(absent),
        ..sample(4)
    };
    Report { answers: sentences::answers(&report), ..report }
}

#[test]
fn the_page_is_well_formed_for_any_number_of_ranks() {
    for ranks in [1, 2, 4, 33, 200] {
        parsed(&body(&html(&sample(ranks))));
    }
}

#[test]
fn each_chart_has_a_title_a_description_and_a_sentence_that_says_what_to_look_for() {
    let body = body(&html(&sample(16)));
    let document = parsed(&body);
    let charts: Vec<_> = of(&document, "figure").collect();
    let ids: Vec<_> = charts.iter().filter_map(|chart| chart.attribute("id")).collect();
    let expected = [
        "usual-chart",
        "swim-chart",
        "excess-chart",
        "gain-chart",
        "nodes-chart",
        "clock-chart",
        "power-chart",
        "processor-chart",
        "steps-chart",
        "budget-chart",
        "breakdown-chart",
        "speed-chart",
        "pairs-chart",
        "states-chart",
        "late-chart",
        "waits-chart",
        "phases-chart-1",
        "phases-chart-2",
        "phases-chart-3",
    ];
    assert_eq!(ids, expected);
    for chart in charts {
        let drawing = chart.descendants().find(|node| node.attribute("role") == Some("img")).unwrap();
        let named = |role: &str, tag: &str| {
            let id = drawing.attribute(role).unwrap();
            drawing.children().find(|node| node.has_tag_name(tag) && node.attribute("id") == Some(id)).unwrap()
        };
        assert!(text(named("aria-labelledby", "title")).len() > 5);
        assert!(text(named("aria-describedby", "desc")).len() > 20);
        let look = chart.descendants().find(|node| node.attribute("class") == Some("look")).unwrap();
        assert!(text(look).starts_with("Look ") && text(look).ends_with('.'), "{}", text(look));
        assert_eq!(text(look).matches(". ").count(), 0, "one sentence: {}", text(look));
        let units = ["ms", "us", "%", "GB/s", "number", "bytes", " s", "receiver", "node"];
        let axes: Vec<String> =
            drawing.descendants().filter(|node| node.attribute("class") == Some("name")).map(text).collect();
        assert!(!axes.is_empty() && axes.iter().all(|axis| units.iter().any(|unit| axis.contains(unit))), "{axes:?}");
    }
}

#[test]
fn names_from_outside_are_text() {
    let mut report = sample(4);
    let hostile = r#"<script>alert("1")</script>'&"#;
    report.gpus[0] = hostile.to_owned();
    report.complete.notes.push(hostile.to_owned());
    report.complete.inputs[0].path = hostile.to_owned();
    report.complete.inputs[0].problem = Some(hostile.to_owned());
    let Part::Known(communicators) = &mut report.communicators else { unreachable!() };
    communicators.rows[1].name = hostile.to_owned();
    let Part::Known(speed) = &mut report.speed else { unreachable!() };
    speed.rows[0].function = hostile.to_owned();
    let Part::Known(phases) = &mut report.phases else { unreachable!() };
    phases.windows[0].from = hostile.to_owned();
    report.complete.notes.push("a name with \u{1b}[31m red".to_owned());
    let page = html(&report);
    assert!(!page.contains('\u{1b}') && page.contains("a name with \u{fffd}[31m red"));
    assert_eq!(page.matches("<script").count(), 1, "the page's own script alone");
    assert!(page.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'&amp;"));
    let body = body(&page);
    let document = parsed(&body);
    assert!(of(&document, "th").any(|cell| text(cell) == hostile), "it comes back unchanged");
}

#[test]
fn the_page_reaches_for_nothing_outside() {
    let page = html(&sample(4));
    for reference in ["http:", "https:", "src=", "url(", "@import", "<link", "<iframe", "javascript:"] {
        let found = page.matches(reference).count();
        let own = page.matches("url(#").count();
        assert_eq!(found, if reference == "url(" { own } else { 0 }, "{reference}");
    }
    let body = body(&page);
    let document = parsed(&body);
    let ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    for link in of(&document, "a").filter_map(|link| link.attribute("href")) {
        assert!(ids.contains(&link.strip_prefix('#').unwrap()), "{link}");
    }
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len(), "ids are distinct");
}

#[test]
fn absent_parts_say_why() {
    let page = html(&without_all_parts("the inputs are sums alone."));
    assert_eq!(page.matches("Not in this report: </strong>the inputs are sums alone.").count(), 13);
    assert!(page.contains("Not known: the inputs are sums alone."));
    let body = body(&page);
    let document = parsed(&body);
    assert_eq!(of(&document, "figure").count(), 0);
    assert_eq!(of(&document, "section").count(), 16, "the sections stay where they are");
}

#[test]
fn parts_without_rows_say_so() {
    let report = Report {
        budget: Part::Known(Default::default()),
        phases: Part::Known(Default::default()),
        stragglers: Part::Known(Default::default()),
        conditions: Part::Known(Default::default()),
        late: Part::Known(Default::default()),
        speed: Part::Known(Default::default()),
        pairs: Part::Known(Default::default()),
        communicators: Part::Known(Default::default()),
        tags: Part::Known(Default::default()),
        unfinished: Part::Known(Default::default()),
        swim: Part::Known(Default::default()),
        gpus: vec![],
        complete: Default::default(),
        ..sample(1)
    };
    let page = html(&report);
    for sentence in [
        "no rank has two phases of different dimensions.",
        "no wait has a time.",
        "no operation has a bus bandwidth.",
        "no pair has a rate or bytes.",
        "the step has no calls with a time.",
        "No rank was last by more than",
        "no rank's own time is known by step.",
    ] {
        assert!(page.contains(sentence), "{sentence}");
    }
    for bad in ["NaN", "inf", "-9223372036854775808"] {
        assert!(!page.replace("information", "").contains(bad), "{bad}");
    }
}

#[test]
fn the_figures_of_the_sample_are_on_the_page() {
    // of two nodes
    let page = html(&sample(16)).replace('\u{a0}', " ");
    for figure in [
        "all 16 ranks",
        "57 steps behind 3 steps of warm-up",
        "rank 3",
        "+12 %",
        "14.8",
        "400",
        "50.0 GB/s",
        "16777216 ncclBfloat16",
        "clocks agree to within 12.0 us",
    ] {
        assert!(page.contains(figure), "{figure}");
    }
}

#[test]
fn headings_are_in_order_and_tables_have_captions_and_scopes() {
    let body = body(&html(&sample(4)));
    let document = parsed(&body);
    let level = |node: Node<'_, '_>| node.tag_name().name().strip_prefix('h').and_then(|it| it.parse::<u32>().ok());
    let levels: Vec<u32> = document.descendants().filter_map(level).collect();
    assert_eq!(levels[0], 1);
    assert!(levels.windows(2).all(|two| two[1] <= two[0] + 1 && two[1] > 1), "{levels:?}");
    for table in of(&document, "table") {
        assert!(table.first_element_child().unwrap().has_tag_name("caption"));
        assert!(table.descendants().filter(|node| node.has_tag_name("th")).all(|cell| cell.has_attribute("scope")));
    }
    for name in ["header", "nav", "main", "footer"] {
        assert_eq!(of(&document, name).count(), 1, "{name}");
    }
}

#[test]
fn a_long_list_of_members_is_shortened_between_two() {
    let members = (0..64).map(|place| (place * 16).to_string()).collect::<Vec<_>>().join(",");
    let made =
        ReportedCommunicator { comm: "1".repeat(16), members, nranks: 64, here: 64, ..ReportedCommunicator::default() };
    let report = Report { communicators: Part::Known(Communicators { rows: vec![made] }), ..sample(2) };
    let page = html(&report);
    assert!(page.contains("0,16,32,48,64,80,96,112,128,144,160,176, …"), "no rank is cut");
}

#[test]
fn of_a_tag_for_each_step_the_first_rows_are_on_the_page() {
    let row = |tag: String| TaggedOperations { tag, operations: 1, bytes: 8, ..TaggedOperations::default() };
    let tags = (0..Tags::MAX_ROWS).map(|step| format!("tag{step:04}")).chain([Tags::OTHERS.to_owned()]);
    let report = Report { tags: Part::Known(Tags { rows: tags.map(row).collect() }), ..sample(2) };
    let page = html(&report);
    assert_eq!(page.matches(">tag0").count(), 64);
    assert!(page.contains("4,033 more rows") && page.contains("The tags after the first 4,096 have one row."));
}

#[test]
fn a_job_without_waits_has_no_empty_map() {
    let mut report = sample(4);
    late_map(&mut report).rows.iter_mut().flatten().for_each(|share| *share = 0.004);
    let page = html(&report);
    assert!(page.contains("At no time did a GPU wait 0.5 % of the time.") && !page.contains("waits-chart"));
    late_map(&mut report).rows[2][7] = 0.005;
    assert!(html(&report).contains("waits-chart"));
}

fn late_map(report: &mut Report) -> &mut report::answer::WaitMap {
    let Part::Known(late) = &mut report.late else { unreachable!() };
    &mut late.map
}

/// Figures that no analysis makes, but that a file with a report may have.
#[test]
fn impossible_figures_do_not_stop_the_page() {
    let mut report = sample(4);
    let Part::Known(steps) = &mut report.steps else { unreachable!() };
    (steps.median_us, steps.p99_us, steps.count) = (-1.0, f64::NAN, 0);
    let Part::Known(swim) = &mut report.swim else { unreachable!() };
    (swim.length_us, swim.lanes[0].bars[0].start_us, swim.lanes[0].gpu) = (0.0, f64::NAN, 99);
    (swim.path[0].gpu, swim.path[1].until_us) = (77, f64::INFINITY);
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    (stragglers.step_us, stragglers.map.gpus_in_row, stragglers.map.rows[0][0]) = (0.0, 0, f32::NAN);
    (stragglers.found[0].gain_us, stragglers.found[0].gpus[0], stragglers.ranks[1].excess_us) =
        (None, 99, Some(f64::NAN));
    (stragglers.events[0].gpu, stragglers.events[0].step) = (99, u64::MAX);
    let Part::Known(conditions) = &mut report.conditions else { unreachable!() };
    (conditions.map.gpus_in_row, conditions.map.bin_us, conditions.rows[0].waiting) = (0, f64::NAN, Some(f64::NAN));
    (conditions.map.power[0], conditions.map.sm_clock[1][0]) = (vec![], Some(f32::INFINITY));
    let Part::Known(pairs) = &mut report.pairs else { unreachable!() };
    (pairs.rows[0].from, pairs.rows[0].rank, pairs.rows[0].typical) = (None, -5, Some(0.0));
    let Part::Known(phases) = &mut report.phases else { unreachable!() };
    phases.windows[0].bins = vec![(0.0, 0), (0.0, 3)];
    let Part::Known(late) = &mut report.late else { unreachable!() };
    (late.map.gpus_in_row, late.map.bin_us, late.ranks[0].cost_us) = (0, 0.0, f64::NAN);
    parsed(&body(&html(&report)));
}

#[test]
fn the_first_line_reads_as_text() {
    let mut report = sample(4);
    if let Part::Known(late) = &mut report.late {
        late.ranks.iter_mut().for_each(|rank| *rank = report::answer::RankLate { calls: 9, ..Default::default() });
        late.resolved = 0;
    }
    let page = html(&report).replace('\u{a0}', " ");
    assert!(page.contains(":</strong> all 4 ranks"), "{}", &page[page.find("</strong>").unwrap()..][..200]);
}
