//! Network transfers that stand, each with both ends.

use super::finding::{StuckTransfer, TransferEnd};
use super::group::MemberGroup;
use common::status::Waiting;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most transfers that are named.
const MOST: usize = 8;

/// Returns the transfers of a group that have not ended and have not moved for `after` seconds, the likeliest cause
/// first: data that are handed to the network and do not arrive, then steps under way. Transfers at which only GPUs
/// are waited for follow from others, and are left out.
pub(crate) fn links(of: &MemberGroup<'_>, after: f64) -> Vec<StuckTransfer> {
    let mut links: BTreeMap<(i32, i32, u8), StuckTransfer> = BTreeMap::new();
    for member in of.members.iter().filter(|member| !member.moved && member.is_current()) {
        for wait in &member.at.waits {
            let (from, to) = if wait.sends { (member.rank, wait.peer) } else { (wait.peer, member.rank) };
            let channel = wait.channel;
            let end = TransferEnd { state: wait.state, seconds: member.since(wait.since), steps: wait.steps };
            let new = StuckTransfer {
                from,
                to,
                channel,
                hosts: [from, to].map(|rank| host(of, rank)),
                sender: None,
                receiver: None,
            };
            let link = links.entry((from, to, channel)).or_insert(new);
            let place = if wait.sends { &mut link.sender } else { &mut link.receiver };
            // the oldest of one direction and channel
            if place.is_none_or(|other: TransferEnd| other.seconds < end.seconds) {
                *place = Some(end);
            }
        }
    }
    let stands = |link: &StuckTransfer| {
        let mut ends = [link.sender, link.receiver].into_iter().flatten();
        ends.any(|end| end.state != Waiting::Gpu && end.seconds >= after)
    };
    let mut links: Vec<StuckTransfer> = links.into_values().filter(stands).collect();
    let state = |link: &StuckTransfer| link.sender.map(|end| end.state).max(link.receiver.map(|end| end.state));
    links.sort_by_key(|link| (Reverse(state(link)), Reverse(milliseconds(link))));
    links.truncate(MOST);
    links
}

fn host(of: &MemberGroup<'_>, rank: i32) -> Option<String> {
    let index = of.members.binary_search_by_key(&rank, |member| member.rank).ok()?;
    of.members.get(index)?.observed.status.origin.host.clone()
}

fn milliseconds(link: &StuckTransfer) -> u64 {
    let ends = [link.sender, link.receiver].into_iter().flatten();
    ends.map(|end| (end.seconds * 1e3) as u64).max().unwrap_or_default()
}
