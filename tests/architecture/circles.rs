//! Finds circles of imports.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the sets of nodes in which each node reaches all others; a single node is no circle.
pub(crate) fn circles<N: Ord + Clone>(edges: impl Iterator<Item = (N, N)>) -> Vec<BTreeSet<N>> {
    let mut next: BTreeMap<N, BTreeSet<N>> = BTreeMap::new();
    for (from, to) in edges.filter(|(from, to)| from != to) {
        next.entry(from).or_default().insert(to);
    }
    let reached: BTreeMap<N, BTreeSet<N>> = next.keys().map(|node| (node.clone(), reach(&next, node))).collect();
    let together =
        |one: &N, other: &N| reached[one].contains(other) && reached.get(other).is_some_and(|back| back.contains(one));
    let mut found: Vec<BTreeSet<N>> = Vec::new();
    for node in next.keys().filter(|node| reached[node].contains(node)) {
        if !found.iter().any(|circle| circle.contains(node)) {
            found.push(next.keys().filter(|other| *other == node || together(node, other)).cloned().collect());
        }
    }
    found
}

fn reach<N: Ord + Clone>(next: &BTreeMap<N, BTreeSet<N>>, from: &N) -> BTreeSet<N> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(node) = open.pop() {
        for to in next.get(&node).into_iter().flatten() {
            if reached.insert(to.clone()) {
                open.push(to.clone());
            }
        }
    }
    reached
}
