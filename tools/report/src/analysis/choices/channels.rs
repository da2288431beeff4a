//! Few channels: as many as a setting allows, or fewer than a communicator of the same shape has.

use super::scene::{Scene, named};
use crate::answer::{LoggedSetting, NcclFinding};
use crate::nccl_log::{Channels, LoggedCommunicator};
use std::collections::{BTreeMap, BTreeSet};

/// A setting that limits channels, and the channels that it limits.
type Limit = (&'static str, fn(&Channels) -> u32);

/// Settings that limit channels. `NCCL_MAX_NRINGS` is the older name.
const LIMITS: [Limit; 4] = [
    ("NCCL_MAX_NCHANNELS", |channels| channels.collective),
    ("NCCL_MAX_NRINGS", |channels| channels.collective),
    ("NCCL_MAX_CTAS", |channels| channels.collective),
    ("NCCL_MAX_P2P_NCHANNELS", |channels| channels.p2p),
];

/// What must be equal in two communicators whose channels are compared: ranks, nodes, and the GPU of each rank.
type Shape = (u32, u32, Vec<u32>);

pub(super) fn findings(scene: &Scene<'_>) -> Vec<NcclFinding> {
    let mut limited: BTreeMap<LoggedSetting, BTreeSet<usize>> = BTreeMap::new();
    let mut shapes: BTreeMap<Shape, Vec<(u32, usize)>> = BTreeMap::new();
    for (place, of) in scene.log.communicators.iter().enumerate().filter(|(_, of)| of.nranks > 1) {
        let Some((rank, channels)) = scene.ranks(of).find_map(|rank| Some((rank, rank.channels?))) else { continue };
        let process = scene.log.processes.get(rank.process);
        let mut is_limited = false;
        for (name, of_limit) in LIMITS {
            let Some(value) = process.and_then(|process| process.setting(name)) else { continue };
            // NCCL has one channel at least
            let Some(most) = value.parse::<i64>().ok().map(|most| most.max(1)) else { continue };
            if i64::from(of_limit(&channels)) == most {
                is_limited = true;
                let setting = LoggedSetting { name: name.to_owned(), value: value.to_owned() };
                limited.entry(setting).or_default().insert(place);
            }
        }
        if let Some(shape) = shape(scene, of).filter(|_| !is_limited) {
            shapes.entry(shape).or_default().push((channels.collective, place));
        }
    }
    let limits = limited
        .into_iter()
        .map(|(setting, of)| NcclFinding::LimitedChannels { setting, communicators: of.len() as u64 });
    let fewer = shapes.into_values().filter_map(|of| {
        let (least, most) = (of.iter().min()?, of.iter().max()?);
        let [channels, other_channels] = [least.0, most.0];
        let hosts = |place: usize| {
            let processes = scene.processes(scene.log.communicators.get(place)?);
            Some(processes.map(|(_, process)| &*process.host).collect::<BTreeSet<&str>>())
        };
        // on the same machines, the program or a split asks for fewer
        let is_elsewhere = hosts(least.1)? != hosts(most.1)?;
        (channels < other_channels && is_elsewhere).then(|| NcclFinding::FewerChannels {
            name: scene.name(least.1),
            hosts: named(hosts(least.1).unwrap_or_default()).0,
            channels,
            other: scene.name(most.1),
            other_channels,
        })
    });
    limits.chain(fewer).collect()
}

/// Returns the shape of a communicator whose ranks are all in the log.
fn shape(scene: &Scene<'_>, of: &LoggedCommunicator) -> Option<Shape> {
    let mut gpus: Vec<(u32, u32)> = scene.ranks(of).map(|rank| (rank.rank, rank.gpu)).collect();
    gpus.sort_unstable();
    (gpus.len() == of.nranks as usize).then_some(())?;
    Some((of.nranks, of.nodes?, gpus.into_iter().map(|(_, gpu)| gpu).collect()))
}
