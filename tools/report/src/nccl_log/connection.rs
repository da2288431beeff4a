//! Connections between two ranks over one channel, as NCCL logs them: `via P2P/CUMEM`, `via SHM/direct`, `via
//! NET/IB/0`.

/// Kind of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// The GPU reads or writes its peer's memory.
    PeerToPeer,
    /// Through memory of the host.
    SharedMemory,
    /// Through a network.
    Network,
}

/// Which end of a connection logged it. Only networks are logged by both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The sender.
    Sends,
    /// The receiver.
    Receives,
}

/// The way that a connection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route<'a> {
    pub(super) transport: Transport,
    /// `CUMEM`, `direct`, or the network's name.
    pub(super) name: &'a str,
    /// Whether the network's adapter reads and writes the GPU's memory.
    pub(super) is_gpu_direct: bool,
}

impl<'a> Route<'a> {
    /// Reads the text after `via `. `None` if it is cut.
    pub(super) fn parse(path: &'a str) -> Option<Self> {
        let mut parts = path.trim().split('/');
        let transport = match parts.next()? {
            "P2P" => Transport::PeerToPeer,
            "SHM" => Transport::SharedMemory,
            "NET" => Transport::Network,
            _ => return None,
        };
        let name = parts.next().filter(|name| !name.is_empty())?;
        if transport != Transport::Network {
            return Some(Self { transport, name, is_gpu_direct: false });
        }
        // a name may have a slash, but the number of an adapter follows it, with the proxy's rank
        let is_adapter = |part: &str| part.starts_with(|letter: char| letter.is_ascii_digit());
        let rest: Vec<&str> = parts.collect();
        rest.iter().position(|part| is_adapter(part))?;
        Some(Self { transport, name, is_gpu_direct: rest.iter().any(|part| part.starts_with("GDRDMA")) })
    }

    /// Returns its name for people: `P2P/CUMEM`, `NET/IB/GDRDMA`.
    pub(super) fn text(self) -> String {
        let kind = match self.transport {
            Transport::PeerToPeer => "P2P",
            Transport::SharedMemory => "SHM",
            Transport::Network => "NET",
        };
        format!("{kind}/{}{}", self.name, if self.is_gpu_direct { "/GDRDMA" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_with_what_newer_releases_append() {
        for (path, text) in [
            ("P2P/CUMEM/read", "P2P/CUMEM"),
            ("P2P/direct pointer", "P2P/direct pointer"),
            ("P2P/indirect/3[3]/read", "P2P/indirect"),
            ("SHM/direct/direct", "SHM/direct"),
            ("NET/IB/0/GDRDMA", "NET/IB/GDRDMA"),
            ("NET/IB/0(3)/GDRDMA(PCI)/Shared", "NET/IB/GDRDMA"),
            ("NET/Socket/1/Shared", "NET/Socket"),
            ("NET/AWS Libfabric/0/GDRDMA", "NET/AWS Libfabric/GDRDMA"),
        ] {
            assert_eq!(Route::parse(path).map(Route::text).as_deref(), Some(text), "{path}");
        }
        for cut in ["", "NET", "NET/IB", "NET/IB/", "P2P/", "XYZ/0"] {
            assert_eq!(Route::parse(cut), None, "{cut}");
        }
    }
}
