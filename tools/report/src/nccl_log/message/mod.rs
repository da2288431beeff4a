//! The message of a line of NCCL's, after its prefix. The forms are those of NCCL 2.23 to 2.31 (`INFO` in its
//! `init.cc`, `debug.cc`, `graph/paths.cc`, `transport/*.cc` and `plugin/*.cc`), and as far as known of earlier ones.

use super::connection::{Route, Side};
use super::process::{self, InitPhases};

/// Largest number of ranks that is believed.
pub(super) const MAX_RANKS: u32 = 1 << 22;
/// Largest number of channels that is believed; NCCL has 64 at most.
const MAX_CHANNELS: u32 = 1024;

/// A begin or an end of a communicator's init.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InitLine {
    pub(super) is_complete: bool,
    /// NCCL's pointer.
    pub(super) pointer: u64,
    pub(super) rank: u32,
    pub(super) nranks: u32,
    pub(super) cuda_device: i32,
    pub(super) gpu: u32,
    pub(super) origin: InitOrigin,
}

/// Where a communicator is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InitOrigin {
    /// It has an id of its own.
    Id(u64),
    /// It is split from the communicator at this pointer.
    Split { parent: u64, number: Option<u32>, color: i64 },
}

/// Channels of a communicator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Channels {
    /// For collectives.
    pub collective: u32,
    /// For NVLink SHARP.
    pub nvls: u32,
    /// For sends and receives.
    pub p2p: u32,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message<'a> {
    /// The first lines of a process.
    Begin,
    Version(&'a str),
    /// A setting that NCCL took from the environment or its file of settings.
    Setting {
        name: &'a str,
        value: &'a str,
    },
    InfiniBand(&'a str),
    NoInfiniBand,
    Sockets(&'a str),
    Network(&'a str),
    PluginMissing(&'a str),
    GpuDirect {
        enabled: bool,
        adapter: &'a str,
    },
    Init(InitLine),
    /// How a communicator lies on nodes.
    Shape {
        pointer: u64,
        rank: u32,
        nodes: u32,
    },
    Channels(Channels),
    Connection {
        own: [u32; 2],
        peer: [u32; 2],
        side: Side,
        route: Route<'a>,
    },
    Timings {
        rank: u32,
        nranks: u32,
        phases: InitPhases,
    },
    /// The report does not need it.
    Other,
    /// It begins as a message that the report reads, and does not go on as one.
    Cut,
}

/// Reads a message.
pub(super) fn message(text: &str) -> Message<'_> {
    known(text).unwrap_or(Message::Cut)
}

/// Reads a message; `None` if it is cut.
fn known(text: &str) -> Option<Message<'_>> {
    if let Some(version) = text.strip_prefix("NCCL version ") {
        return word(version).map(Message::Version);
    }
    if text.starts_with("cudaDriverVersion ") || (text.starts_with("Bootstrap") && text.contains(": Using ")) {
        return Some(Message::Begin);
    }
    if let Some(named) = text.strip_prefix("Channel ") {
        return connection(named);
    }
    if let Some(network) = text.strip_prefix("Using network ") {
        return Some(Message::Network(Some(network.trim()).filter(|name| !name.is_empty())?));
    }
    if let Some(said) = text.strip_prefix("NET/IB : ") {
        return Some(infiniband(said));
    }
    if text.starts_with("Failed to open libibverbs.so") {
        return Some(Message::NoInfiniBand);
    }
    if let Some(used) = text.strip_prefix("NET/Socket : Using ") {
        return Some(Message::Sockets(used.trim()));
    }
    if let Some(missing) = text.strip_prefix("NET/Plugin: Could not find:") {
        // 2.27 ends the sentence and says no more
        let files = missing.split(". ").next().unwrap_or(missing).trim().trim_end_matches('.');
        return Some(Message::PluginMissing(files));
    }
    if text.starts_with("NET/") && text.contains(" : GPU Direct RDMA ") {
        return Some(infiniband(text.split_once(" : ")?.1));
    }
    if text.starts_with("Init timings") {
        let (rank, nranks) = (number(text, "rank ")?, ranks(text, "nranks ")?);
        return Some(Message::Timings { rank, nranks, phases: process::phases(text)? });
    }
    if text.contains(" coll channels, ") {
        let before = |label: &str| channels(text.split(label).next()?.rsplit(' ').next()?);
        let [collective, nvls, p2p] = [" coll channels", " nvls channels", " p2p channels"].map(before);
        // 2.19 has no channels for NVLS
        return Some(Message::Channels(Channels { collective: collective?, nvls: nvls.unwrap_or(0), p2p: p2p? }));
    }
    if text.ends_with("Init START") || text.ends_with("Init COMPLETE") {
        return init_line(text);
    }
    if text.starts_with("comm 0x") && text.contains(" nNodes ") {
        return Some(Message::Shape {
            pointer: hexadecimal(text, "comm 0x")?,
            rank: number(text, " rank ")?,
            nodes: ranks(text, " nNodes ")?,
        });
    }
    Some(setting(text).unwrap_or(Message::Other))
}

/// `NCCL_X set by environment to Y`, with a full stop after a number; `NCCL_X set to Y`; `Comm config x reset to
/// NCCL_X=Y`.
fn setting(text: &str) -> Option<Message<'_>> {
    let (name, value) = match text.split_once(" reset to NCCL_") {
        Some((field, _)) if field.starts_with("Comm config ") => text.get(field.len() + 10..)?.split_once('=')?,
        _ => text.split_once(" set by environment to ").or_else(|| text.split_once(" set to "))?,
    };
    let is_name = name.starts_with("NCCL_") && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let value = value.strip_suffix('.').unwrap_or(value).trim();
    is_name.then_some(Message::Setting { name, value })
}

/// Reads the text after `NET/IB : `.
fn infiniband(said: &str) -> Message<'_> {
    if said.starts_with("No device found") {
        return Message::NoInfiniBand;
    }
    if let Some(used) = said.strip_prefix("Using ") {
        let adapters = used.split("; OOB").next().unwrap_or(used).trim().trim_end_matches("[RO]").trim();
        // without adapters, NCCL writes this line, too
        return if adapters.starts_with('[') { Message::InfiniBand(adapters) } else { Message::NoInfiniBand };
    }
    let Some(state) = said.strip_prefix("GPU Direct RDMA ") else { return Message::Other };
    let Some((state, adapter)) = state.split_once(" for HCA ") else { return Message::Other };
    match state {
        "Enabled" => Message::GpuDirect { enabled: true, adapter },
        "Disabled" => Message::GpuDirect { enabled: false, adapter },
        _ => Message::Cut,
    }
}

/// `00/0 : 0[0] -> 1[1] [send] via NET/IB/0`; an order of ranks has no arrow.
fn connection(named: &str) -> Option<Message<'_>> {
    let Some((_, between)) = named.split_once(" : ") else { return Some(Message::Cut) };
    if !between.contains("->") {
        return Some(Message::Other);
    }
    let (pair, path) = between.split_once(" via ")?;
    let (from, rest) = pair.split_once(" -> ")?;
    let (to, side) = match rest.trim().split_once(' ') {
        None => (rest.trim(), Side::Sends),
        Some((to, "[send]")) => (to, Side::Sends),
        Some((to, "[receive]")) => (to, Side::Receives),
        Some(_) => return None,
    };
    let (from, to, route) = (place(from)?, place(to)?, Route::parse(path)?);
    let (own, peer) = if side == Side::Sends { (from, to) } else { (to, from) };
    Some(Message::Connection { own, peer, side, route })
}

/// Reads `RANK[GPU]`.
fn place(text: &str) -> Option<[u32; 2]> {
    let (rank, gpu) = text.trim().strip_suffix(']')?.split_once('[')?;
    let rank = rank.parse().ok().filter(|rank| *rank < MAX_RANKS)?;
    // up to 2.18, the place on the bus
    Some([rank, gpu.parse().or_else(|_| u32::from_str_radix(gpu, 16)).ok()?])
}

fn init_line(text: &str) -> Option<Message<'_>> {
    let (nranks, rank) = (ranks(text, " nranks ")?, number(text, " rank ")?);
    let origin = match hexadecimal(text, " parent 0x") {
        Some(parent) => InitOrigin::Split {
            parent,
            number: number(text, " splitCount ").or_else(|| number(text, " childCount ")),
            color: number(text, " color ")?,
        },
        None => InitOrigin::Id(hexadecimal(text, " commId 0x")?),
    };
    Some(Message::Init(InitLine {
        is_complete: text.ends_with("COMPLETE"),
        pointer: hexadecimal(text, "comm 0x")?,
        rank: Some(rank).filter(|rank| *rank < nranks)?,
        nranks,
        cuda_device: number(text, " cudaDev ")?,
        gpu: number(text, " nvmlDev ").or_else(|| number(text, " cudaDev "))?,
        origin,
    }))
}

fn word(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

/// Returns the number after a label.
fn number<N: std::str::FromStr>(text: &str, label: &str) -> Option<N> {
    let (_, behind) = text.split_once(label)?;
    behind.split([' ', ',', ')', '-']).next()?.parse().ok()
}

fn ranks(text: &str, label: &str) -> Option<u32> {
    number(text, label).filter(|ranks| (1..=MAX_RANKS).contains(ranks))
}

fn channels(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number <= MAX_CHANNELS)
}

fn hexadecimal(text: &str, label: &str) -> Option<u64> {
    let (_, behind) = text.split_once(label)?;
    u64::from_str_radix(word(behind)?, 16).ok()
}

#[cfg(test)]
mod tests;
