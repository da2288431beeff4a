//! The answers, the steps in detail and the script of the page.

use super::{body, of, parsed, text};
use crate::page::html;
use crate::sample::sample;
use report::answer::{Part, Report};
use roxmltree::Node;

#[test]
fn each_answer_has_a_verdict_as_a_word_and_a_picture() {
    let mut report = sample(4);
    report.answers.network = report::answer::Verdicted { text: "Not known.".into(), ..Default::default() };
    let body = body(&html(&report));
    let document = parsed(&body);
    let cards: Vec<_> = of(&document, "article").collect();
    let of_class = |node: Node<'_, '_>, class: &str| {
        node.descendants().filter(|it| it.attribute("class") == Some(class)).map(text).collect::<Vec<_>>()
    };
    let verdicts: Vec<_> = cards.iter().flat_map(|card| of_class(*card, "verdict")).collect();
    assert_eq!(verdicts, ["bad", "look", "not known"]);
    assert_eq!(
        of_class(cards[0], "headline"),
        ["Without rank\u{a0}3's extra time a step would take 19.4\u{a0}ms instead of 20.0\u{a0}ms."]
    );
    let facts =
        |card: Node<'_, '_>| card.descendants().filter(|it| it.has_tag_name("dt")).map(text).collect::<Vec<_>>();
    assert_eq!(facts(cards[0]), ["Gain", "When", "Why", "Next"]);
    assert_eq!(facts(cards[1]), ["Next"], "what is empty is left out");
    assert!(cards.iter().all(|card| card.descendants().any(|node| node.attribute("role") == Some("img"))));
}

#[test]
fn the_script_is_small_and_no_element_has_a_handler() {
    let page = html(&sample(4));
    let script = page.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    assert!(script.len() < 10_000, "{} bytes", script.len());
    let body = body(&page);
    let document = parsed(&body);
    for node in document.descendants() {
        assert!(node.attributes().all(|it| !it.name().starts_with("on") && it.name() != "style"), "{node:?}");
    }
}

#[test]
fn two_steps_have_their_critical_paths_and_a_single_one_no_choice() {
    let mut report = sample(64);
    let page = html(&report);
    assert_eq!((page.matches("class=\"critical\"").count(), page.matches("name=\"step\"").count()), (4, 2));
    assert!(page.contains("of the critical path is time of rank 3 between its operations."));
    let Part::Known(swim) = &mut report.swim else { unreachable!() };
    swim.usual = None;
    swim.path.clear();
    let page = html(&report);
    assert!(!page.contains("class=\"critical\"") && !page.contains("name=\"step\""));
    assert!(page.contains("not all of its calls are here"));
}

#[test]
fn a_page_without_re_enactment_shows_waits_beside_the_first_answer() {
    let report = Report { stragglers: Part::Absent("no steps were found.".into()), ..sample(4) };
    let page = html(&report);
    assert!(page.contains("Waits of each rank for others") && page.contains("</strong>no steps were found."));
}
