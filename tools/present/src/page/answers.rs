//! The three answers: a card each with its verdict, and the picture that proves it.

use super::super::names::ReportNames;
use super::super::units::{share, time};
use super::proofs;
use super::unbroken::unbroken;
use maud::{Markup, html};
use report::answer::{AnswerVerdict, Report, Verdicted};

/// Writes the cards.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    let answers = &report.answers;
    let cards = [
        ("late", "Which rank is late?", &answers.late, proofs::late(report, names)),
        ("cost", "What does communication cost a step?", &answers.cost, proofs::cost(report, names)),
        ("network", "Is the network as fast as it should be?", &answers.network, proofs::network(report, names)),
    ];
    html! {
        section #answers aria-labelledby="answers-heading" {
            h2 #answers-heading .unseen { "Answers" }
            @for (id, question, answer, proof) in cards { (card(id, question, answer, proof)) }
        }
    }
}

fn card(id: &str, question: &str, answer: &Verdicted, proof: Option<Markup>) -> Markup {
    let (headline, rest) = first_sentence(&answer.text);
    html! {
        article class={ "card " (class(answer.verdict)) } aria-labelledby={ "question-" (id) } {
            div.said {
                h3 id={ "question-" (id) } { (question) }
                p.verdict { span { (answer.verdict.text()) } }
                p.headline { (words(headline)) }
                @if !rest.is_empty() { p.answer { (words(rest)) } }
                (facts(answer))
            }
            @if let Some(proof) = proof { (proof) }
        }
    }
}

/// Writes a text whose lines do not break in a name of an option.
fn words(text: &str) -> Markup {
    let text = unbroken(text);
    html! {
        @for (place, word) in text.split(' ').enumerate() {
            @if place > 0 { " " }
            @if word.contains("--") { span.whole { (word) } } @else { (word) }
        }
    }
}

/// Writes the fields that are there.
fn facts(answer: &Verdicted) -> Markup {
    let gain = match (answer.gain_us, answer.gain) {
        (Some(us), Some(part)) => format!("{} a step, {}", time(us), share(part)),
        (Some(us), None) => format!("{} a step", time(us)),
        (None, Some(part)) => format!("{} of a step", share(part)),
        (None, None) => String::new(),
    };
    let facts = [("Gain", &gain), ("When", &answer.when), ("Why", &answer.why), ("Next", &answer.next)];
    let there = || facts.iter().filter(|(_, text)| !text.is_empty());
    html! {
        @if there().next().is_some() {
            dl { @for (name, text) in there() { div { dt { (name) } dd { (words(text)) } } } }
        }
    }
}

/// Returns the class that gives a verdict its colour.
fn class(verdict: AnswerVerdict) -> &'static str {
    match verdict {
        AnswerVerdict::Fine => "is-fine",
        AnswerVerdict::Look => "is-look",
        AnswerVerdict::Bad => "is-bad",
        AnswerVerdict::Unknown => "is-unknown",
    }
}

/// Divides a text behind its first sentence. One ends before a capital letter or a digit, which `19.4 ms` does not.
fn first_sentence(text: &str) -> (&str, &str) {
    let ends = |(at, _): &(usize, &str)| {
        let behind = text.get(at + 2..).unwrap_or_default();
        behind.starts_with(|letter: char| letter.is_uppercase() || letter.is_ascii_digit())
    };
    let end = text.match_indices(". ").find(ends).map_or(text.len(), |(at, _)| at + 1);
    (text.get(..end).unwrap_or(text), text.get(end..).unwrap_or_default().trim_start())
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn the_headline_is_the_first_sentence() {
        let text = "A step takes 19.4 ms (e.g. on rank 3). 2 ranks stand out.";
        assert_eq!(first_sentence(text), ("A step takes 19.4 ms (e.g. on rank 3).", "2 ranks stand out."));
        assert_eq!(first_sentence("Not known: no steps"), ("Not known: no steps", ""));
    }
}
