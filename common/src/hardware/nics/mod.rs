//! Bytes of each network adapter, from the counters that Linux shows of the node: those of everybody who uses it.

pub mod rates;

use super::Ways;
use super::folder::names;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// Where the kernel shows its devices.
pub const SYSFS: &str = "/sys";
/// Bytes in the unit of port_xmit_data and port_rcv_data (PortXmitData of the InfiniBand specification: octets, divided
/// by 4).
const WORD: u64 = 4;

/// The counters of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Name, such as `eth0`; of an InfiniBand or RoCE adapter with its port, such as `mlx5_0:1`.
    pub name: String,
    /// Bytes since the adapter's counters began.
    pub bytes: Ways<u64>,
}

/// Reads the counters of all adapters, by name. `sysfs` is [`SYSFS`], or another folder of that form. Adapters that
/// carry no bytes to other nodes are left out: loopback, and those without a device of their own.
pub fn read(sysfs: &Path) -> Vec<Nic> {
    let mut found = infiniband(sysfs);
    found.extend(ethernet(sysfs));
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn infiniband(sysfs: &Path) -> Vec<Nic> {
    let port = |adapter: &str, port: &Path| {
        let counters = port.join("counters");
        let bytes = |name: &str| number(&counters.join(name))?.checked_mul(WORD);
        let bytes = Ways { sent: bytes("port_xmit_data")?, received: bytes("port_rcv_data")? };
        Some(Nic { name: format!("{adapter}:{}", port.file_name()?.to_str()?), bytes })
    };
    let ports = |adapter: &str, path: &Path| Some(entries(&path.join("ports"), |_, path| port(adapter, path)));
    entries(&sysfs.join("class/infiniband"), ports).concat()
}

fn ethernet(sysfs: &Path) -> Vec<Nic> {
    entries(&sysfs.join("class/net"), |name, path| {
        // bridges, tunnels and loopback have no device: their bytes count at the adapter below, or never leave the node
        path.join("device").exists().then_some(())?;
        let bytes = |name: &str| number(&path.join("statistics").join(name));
        Some(Nic { name: name.into(), bytes: Ways { sent: bytes("tx_bytes")?, received: bytes("rx_bytes")? } })
    })
}

/// Applies a function to each entry of a folder.
fn entries<T>(folder: &Path, of: impl Fn(&str, &Path) -> Option<T>) -> Vec<T> {
    let one = |name: OsString| of(name.to_str()?, &folder.join(&name));
    names(folder).into_iter().filter_map(one).collect()
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn adapters_that_leave_the_node_are_read_in_bytes() {
        let root = Folder(std::env::temp_dir().join(format!("scorep-nccl-nics-{}", std::process::id())));
        let write = |path: &str, text: &str| {
            let path = root.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (port, sent, received) in [("mlx5_0/ports/1", "100\n", "7\n"), ("mlx5_1/ports/2", "N/A (no PMA)\n", "1\n")]
        {
            write(&format!("class/infiniband/{port}/counters/port_xmit_data"), sent);
            write(&format!("class/infiniband/{port}/counters/port_rcv_data"), received);
        }
        for name in ["eth0", "lo", "eth1"] {
            write(&format!("class/net/{name}/statistics/tx_bytes"), "12\n");
            write(&format!("class/net/{name}/statistics/rx_bytes"), if name == "eth1" { "?" } else { "13\n" });
        }
        for name in ["eth0", "eth1"] {
            write(&format!("class/net/{name}/device/vendor"), "0x15b3\n");
        }
        let nic = |name: &str, sent, received| Nic { name: name.into(), bytes: Ways { sent, received } };
        assert_eq!(read(&root.0), [nic("eth0", 12, 13), nic("mlx5_0:1", 400, 28)]);
        assert_eq!(read(&root.0.join("nothing")), []);
    }
}
