//! A process as its log describes it.

use std::collections::BTreeMap;
use std::rc::Rc;

/// Most settings that are kept of a process; NCCL knows some 300.
const MOST_SETTINGS: usize = 512;

/// A process, by its lines.
#[derive(Debug)]
pub struct LoggedProcess {
    /// The machine's name, up to its first dot.
    pub host: Rc<str>,
    /// Process id.
    pub pid: u32,
    /// Whether the log has what NCCL logs before its first communicator.
    pub has_begin: bool,
    /// NCCL's release; most releases log it on one rank alone.
    pub version: Option<Rc<str>>,
    /// Settings that NCCL took from the environment or from its file of settings, with the last value.
    pub settings: BTreeMap<Rc<str>, Rc<str>>,
    /// The adapters of InfiniBand or RoCE that NCCL found: `[0]mlx5_0:1/IB`.
    pub infiniband: Option<Rc<str>>,
    /// Whether NCCL looked for such adapters and found none.
    pub has_no_infiniband: bool,
    /// The interfaces of the sockets' network.
    pub sockets: Option<Rc<str>>,
    /// Libraries of network plugins that NCCL did not find.
    pub missing_plugin: Option<Rc<str>>,
    /// An adapter that cannot reach the memory of GPUs.
    pub no_gpu_direct: Option<Rc<str>>,
}

impl LoggedProcess {
    pub(super) fn new(host: Rc<str>, pid: u32) -> Self {
        Self {
            host,
            pid,
            has_begin: false,
            version: None,
            settings: BTreeMap::new(),
            infiniband: None,
            has_no_infiniband: false,
            sockets: None,
            missing_plugin: None,
            no_gpu_direct: None,
        }
    }

    /// Keeps a setting. Returns whether there was room.
    pub(super) fn set(&mut self, name: Rc<str>, value: Rc<str>) -> bool {
        let has_room = self.settings.len() < MOST_SETTINGS || self.settings.contains_key(&name);
        if has_room {
            self.settings.insert(name, value);
        }
        has_room
    }

    /// Returns the value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(|value| &**value)
    }
}
