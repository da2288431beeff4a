//! The chart of transfers over the network by state: a bar for each side of the pairs whose transfers took most time.

use super::super::names::ReportNames;
use super::super::sentences::{pair_states, sender_and_receiver};
use super::super::tables;
use super::super::units::{counted, part_of};
use super::draw::{Chart, LegendEntry, Mark};
use super::stack::{StackedBar, StackedPart, stack};
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::answer::{NetworkTransfers, PairStates};

/// Largest number of rows of a table of transfers.
pub(super) const ROWS: usize = 10;
/// Largest number of pairs that have bars.
const PAIRS: usize = 8;
/// Largest number of pairs that are described in words.
const IN_WORDS: usize = 3;

/// A state: its name and the name of its colour.
type State = (&'static str, &'static str);

const GPU: State = ("wait for the GPU", "step-gpu");
const RECEIVER: State = ("wait for the receiver", "step-peer");
const NETWORK: State = ("network", "step-network");
const FLUSH: State = ("flush into the GPU's memory", "step-flush");

/// The states of a side beyond the queue, in the order of its times.
const SENDER: [State; 3] = [GPU, RECEIVER, NETWORK];
const OF_RECEIVER: [State; 3] = [NETWORK, FLUSH, GPU];

/// Writes the chart; nothing where NCCL reported no states.
pub(super) fn of(transfers: &NetworkTransfers, names: &ReportNames<'_>) -> Markup {
    let mut pairs = transfers.longest();
    pairs.retain(|pair| pair.whole_us() > 0.0);
    if pairs.is_empty() {
        return html! {};
    }
    let bars: Vec<StackedBar<'_>> = pairs.iter().take(PAIRS).flat_map(|pair| sides(pair, names)).collect();
    let texts: Vec<String> = pairs.iter().take(IN_WORDS).map(|pair| pair_states(pair, names)).collect();
    let (size, drawing) = stack(&bars, 24.0, 866.0, "share of the transfers' time beyond the queue, %");
    let key =
        [GPU, RECEIVER, NETWORK, FLUSH].map(|(name, class)| LegendEntry { class, mark: Mark::Box, text: name.into() });
    Chart {
        id: "states-chart",
        title: "Transfers by state",
        look: "Look at the longest part of a sender: its GPU, which has no data yet; its receiver, which has no \
               buffer free; or the network, which alone a faster network would shorten.",
        description: format!(
            "Shares of the states of {}, both sides of {} that took most time. {}",
            counted(bars.len() as u64, "side"),
            counted(pairs.len().min(PAIRS) as u64, "pair"),
            texts.join(" ")
        ),
        size,
        key: LegendEntry::draw(&key),
        drawing,
        notes: html! {
            p { "A receiver's network contains its waits for the sender." }
            @for text in &texts { p { (text) } }
        },
        below: PageTable::of("Transfers by state, those that took most time first", &tables::states(transfers, names))
            .without_unknown()
            .first(ROWS)
            .render(),
    }
    .render()
}

/// Returns the bars of both sides of a pair, as far as they are known.
fn sides(pair: &PairStates, names: &ReportNames<'_>) -> Vec<StackedBar<'static>> {
    let bar = |side: &str, times: Option<[f64; 4]>, states: [State; 3]| {
        let [_, times @ ..] = times?;
        let whole: f64 = times.iter().sum();
        let part = |((name, class), us): (State, f64)| StackedPart { name, class, share: part_of(us, whole) };
        let parts = states.into_iter().zip(times).map(part).collect();
        (whole > 0.0).then(|| StackedBar { name: format!("{}, {side}", sender_and_receiver(pair, names)), parts })
    };
    let sent = bar("sender", pair.send_us, SENDER);
    sent.into_iter().chain(bar("receiver", pair.receive_us, OF_RECEIVER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    fn pair(send_us: Option<[f64; 4]>, receive_us: Option<[f64; 4]>) -> PairStates {
        PairStates { rank: 3, peer: 7, from: Some(3), to: Some(7), send_us, receive_us, ..PairStates::default() }
    }

    #[test]
    fn a_pair_has_a_bar_for_each_side_that_is_known() {
        let report = sample(8);
        let names = &ReportNames::of(&report);
        let both = sides(&pair(Some([900.0, 70.0, 25.0, 5.0]), Some([50.0, 3.0, 1.0, 0.0])), names);
        let shown: Vec<_> =
            both.iter().map(|bar| (bar.name.as_str(), bar.parts.iter().map(|part| part.share))).collect();
        let shown: Vec<_> = shown.into_iter().map(|(name, shares)| (name, shares.collect::<Vec<_>>())).collect();
        assert_eq!(
            shown,
            [
                ("rank 3 to rank 7, sender", vec![0.7, 0.25, 0.05]),
                ("rank 3 to rank 7, receiver", vec![0.75, 0.25, 0.0]),
            ]
        );
        assert_eq!(sides(&pair(None, Some([0.0; 4])), names).len(), 0);
    }

    #[test]
    fn the_chart_has_the_pairs_that_took_most_time_and_says_where() {
        let report = sample(8);
        let names = &ReportNames::of(&report);
        let long = pair(Some([0.0, 70e9, 25e9, 5e9]), None);
        let many = (0..20).map(|_| pair(Some([0.0, 1.0, 1.0, 1.0]), Some([0.0, 1.0, 1.0, 1.0])));
        let states = many.chain([long]).collect();
        let text = of(&NetworkTransfers { states, ..NetworkTransfers::default() }, names).into_string();
        assert!(
            text.contains("<p>rank 3 to rank 7: of the sender's time beyond the queue 70 % waits for its GPU, 25 %")
        );
        // the long one has one side
        assert_eq!(text.matches("rank 3 to rank 7, sender: wait for the GPU").count(), PAIRS);
        assert_eq!(text.matches("rank 3 to rank 7, receiver: network").count(), PAIRS - 1);
        assert_eq!(of(&NetworkTransfers::default(), names).into_string(), "");
    }
}
