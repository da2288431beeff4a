//! Links of a communicator: rates of each pair's sends, compared with pairs of the same kind.

use super::finding::LinkRate;
use super::track::{Beyond, HELD, Track, Turn};
use common::status::progress::LinkSum;
use report::analysis::pairs::MIN_EFFECT;
use report::analysis::robust::{median, spread};
use report::analysis::stragglers::rules::{MIN_RANKS, MIN_Z, UNKNOWN_DEVIATION};
use std::collections::BTreeMap;

/// Transfers and bytes between two looks that make a rate.
const TRANSFERS: u64 = 8;
const BYTES: u64 = 1 << 20;
/// Mean sizes of transfers of links that are compared differ by less than this factor.
const SIZE: f64 = 2.0;

/// The links of a communicator, by sender and receiver. A link takes 150 bytes.
#[derive(Debug, Default)]
pub(super) struct WatchedLinks {
    links: BTreeMap<(i32, i32), WatchedLink>,
    /// Between nodes, and within nodes.
    compared: [ComparedLinks; 2],
}

/// The links that were compared last, where they are few.
#[derive(Debug, Default)]
struct ComparedLinks {
    pairs: Option<Vec<(i32, i32)>>,
    /// Looks in a row that had others.
    others: u8,
}

/// How links are compared at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkComparison {
    /// Not at this look.
    Waits,
    AsBefore,
    /// Their places among others are no more those among the earlier ones.
    Anew,
}

impl ComparedLinks {
    /// Takes the links of a look.
    fn take(&mut self, of: &[&LinkStep]) -> LinkComparison {
        let pairs = if of.len() < MIN_RANKS { of.iter().map(|step| step.pair).collect() } else { vec![] };
        if self.pairs.as_ref() == Some(&pairs) {
            self.others = 0;
            return LinkComparison::AsBefore;
        }
        // a file may be missing for a look
        self.others += 1;
        if self.pairs.is_some() && self.others < HELD {
            return LinkComparison::Waits;
        }
        (self.pairs, self.others) = (Some(pairs), 0);
        LinkComparison::Anew
    }
}

#[derive(Debug, Default)]
struct WatchedLink {
    last: LinkSum,
    track: Track,
    /// Its place among few links, before it stood out.
    usual: Option<f64>,
}

/// A rank whose own time is known and about as its peers'.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkEnd {
    pub(super) node: usize,
    /// Whether it may be about to stand out.
    pub(super) is_rising: bool,
}

/// A link between two looks.
struct LinkStep {
    pair: (i32, i32),
    within_node: bool,
    /// Whether one of its ranks may be about to stand out.
    is_rising: bool,
    /// Logarithm of the bytes a second.
    rate: f64,
    /// Mean bytes of a transfer.
    size: f64,
}

/// What a look says of a link.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LinkNews {
    Begins(LinkRate),
    Over,
}

impl WatchedLinks {
    /// Takes the sums of all senders and returns what has changed. `end` says of a rank where its links end; links of ranks
    /// without an answer are not judged.
    pub(super) fn take(
        &mut self,
        sums: &[(i32, &[LinkSum])],
        end: &dyn Fn(i32) -> Option<LinkEnd>,
    ) -> Vec<((i32, i32), LinkNews)> {
        let mut steps = vec![];
        for (sender, links) in sums {
            for sum in links.iter().filter(|sum| sum.sends) {
                let pair = (*sender, sum.peer);
                let link = self.links.entry(pair).or_default();
                let last = std::mem::replace(&mut link.last, *sum);
                let (Some(from), Some(to)) = (end(pair.0), end(pair.1)) else {
                    link.track.pause();
                    continue;
                };
                steps.extend(step(pair, [from, to], &last, sum));
            }
        }
        let mut news = vec![];
        for within_node in [false, true] {
            let mut of: Vec<&LinkStep> = steps.iter().filter(|step| step.within_node == within_node).collect();
            let middle = median(&mut of.iter().map(|step| step.size).collect::<Vec<f64>>());
            of.retain(|step| step.size < SIZE * middle && middle < SIZE * step.size);
            if of.len() < 2 {
                continue;
            }
            match self.compared[usize::from(within_node)].take(&of) {
                LinkComparison::Waits => continue,
                LinkComparison::AsBefore => {}
                LinkComparison::Anew => self.begin_anew(&of),
            }
            self.judge(&of, within_node, &mut news);
        }
        news
    }

    /// Forgets the places among others of links that are not slow.
    fn begin_anew(&mut self, of: &[&LinkStep]) {
        for step in of {
            if let Some(link) = self.links.get_mut(&step.pair).filter(|link| !link.track.stands) {
                (link.track, link.usual) = (Track::default(), None);
            }
        }
    }

    fn judge(&mut self, of: &[&LinkStep], within_node: bool, news: &mut Vec<((i32, i32), LinkNews)>) {
        let rates: Vec<f64> = of.iter().map(|step| step.rate).collect();
        let [middle, apart] = spread(&rates);
        for step in of {
            let Some(link) = self.links.get_mut(&step.pair) else { continue };
            // of few links, each is compared with its own usual place among them: links need not be alike
            let (usual, apart) = if of.len() >= MIN_RANKS {
                (middle, apart)
            } else {
                let others = of.iter().filter(|other| other.pair != step.pair).map(|other| other.rate);
                let others = median(&mut others.collect::<Vec<f64>>());
                (others, UNKNOWN_DEVIATION)
            };
            let below = usual - step.rate;
            if !link.track.stands {
                link.usual = link.track.usual(usize::from(HELD));
            }
            let own_usual = if of.len() < MIN_RANKS { link.usual.unwrap_or(below) } else { 0.0 };
            let deficit = 1.0 - (own_usual - below).exp();
            let z = (below - own_usual) / apart.max(link.track.deviation()).max(UNKNOWN_DEVIATION / 2.0);
            let beyond = match Beyond::of(deficit, MIN_EFFECT, z, MIN_Z) {
                // it may be the rank
                Beyond::Whole if step.is_rising => Beyond::Half,
                beyond => beyond,
            };
            match link.track.take(below, beyond) {
                Turn::Begins => {
                    let (rate, usual) = (step.rate.exp(), (usual - own_usual).exp());
                    let rate = LinkRate { rate, usual, links: of.len() - 1, within_node };
                    news.push((step.pair, LinkNews::Begins(rate)));
                }
                Turn::Over => news.push((step.pair, LinkNews::Over)),
                Turn::Same => {}
            }
        }
    }
}

fn step(pair: (i32, i32), [from, to]: [LinkEnd; 2], last: &LinkSum, sum: &LinkSum) -> Option<LinkStep> {
    let transfers = sum.transfers.checked_sub(last.transfers)?;
    let (bytes, network) = (sum.bytes.checked_sub(last.bytes)?, sum.network.checked_sub(last.network)?);
    let is_enough = last.transfers > 0 && transfers >= TRANSFERS && bytes >= BYTES && network > 0;
    is_enough.then(|| LinkStep {
        pair,
        within_node: from.node == to.node,
        is_rising: from.is_rising || to.is_rising,
        rate: (bytes as f64 / (network as f64 / 1e9)).ln(),
        size: bytes as f64 / transfers as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look at a ring of four nodes, with these rates of their links in bytes a nanosecond.
    fn look(links: &mut WatchedLinks, sums: &mut [LinkSum; 4], rates: [u64; 4], late: Option<i32>) -> Vec<(i32, i32)> {
        for (rank, sum) in sums.iter_mut().enumerate() {
            *sum = LinkSum {
                peer: (rank as i32 + 1) % 4,
                sends: true,
                transfers: sum.transfers + 16,
                bytes: sum.bytes + (16 << 20),
                network: sum.network + (16 << 20) / rates[rank],
            };
        }
        let of: Vec<(i32, &[LinkSum])> =
            sums.iter().enumerate().map(|(rank, sum)| (rank as i32, std::slice::from_ref(sum))).collect();
        let end = |rank: i32| (Some(rank) != late).then_some(LinkEnd { node: rank as usize, is_rising: false });
        let news = links.take(&of, &end);
        news.into_iter().filter(|(_, news)| matches!(news, LinkNews::Begins(_))).map(|(pair, _)| pair).collect()
    }

    /// Links that are not alike: of the two that go on, the usual places were among all four.
    #[test]
    fn a_late_rank_makes_no_other_link_slow() {
        let (mut links, mut sums) = (WatchedLinks::default(), [LinkSum::default(); 4]);
        for turn in 0..120 {
            let late = (30..60).contains(&turn).then_some(3);
            assert_eq!(look(&mut links, &mut sums, [20, 20, 10, 10], late), [], "{turn}");
        }
        let found: Vec<_> = (0..8).flat_map(|_| look(&mut links, &mut sums, [10, 20, 10, 10], None)).collect();
        assert_eq!(found, [(0, 1)]);
    }

    #[test]
    fn the_usual_rate_is_the_links_own_where_links_are_few() {
        let (mut links, mut sums) = (WatchedLinks::default(), [LinkSum::default(); 4]);
        let turns = [[20, 10, 10, 10]; 20].into_iter().chain([[10; 4]; 8]);
        let said = turns.flat_map(|rates| {
            look(&mut links, &mut sums, rates, None);
            links.links[&(0, 1)].usual
        });
        // beside others of half its rate
        assert_eq!(said.last().map(|usual| (usual * 100.0).round()), Some(-69.0));
    }
}
