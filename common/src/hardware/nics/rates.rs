//! Rates of the network adapters that NCCL would take, from what Linux shows of the node and NCCL's variables.
//!
//! NCCL takes the active InfiniBand and RoCE ports (`NCCL_IB_HCA` chooses among them), unless `NCCL_IB_DISABLE=1` or
//! `NCCL_NET=Socket`; without such ports it takes the network interfaces (`NCCL_SOCKET_IFNAME`).

use super::entries;
use std::fs;
use std::path::Path;

/// The rate of an adapter's port.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NicRate {
    /// Name, such as `eth0`; of an InfiniBand or RoCE adapter with its port, such as `mlx5_0:1`.
    pub name: String,
    /// Mbit/s in one direction.
    pub mbit_s: u64,
}

/// NCCL's variables that choose among adapters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    infiniband: NameList,
    interfaces: NameList,
    /// Whether NCCL takes no InfiniBand and RoCE ports.
    without_infiniband: bool,
}

impl Choice {
    /// Reads the variables that `lookup` gives.
    pub fn of(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let is = |name: &str, value: &str| lookup(name).is_some_and(|text| text.trim().eq_ignore_ascii_case(value));
        Self {
            infiniband: NameList::of(&lookup("NCCL_IB_HCA").unwrap_or_default()),
            interfaces: NameList::of(&lookup("NCCL_SOCKET_IFNAME").unwrap_or_default()),
            without_infiniband: is("NCCL_IB_DISABLE", "1") || is("NCCL_NET", "Socket"),
        }
    }
}

/// A list of names as NCCL's variables have it: prefixes, or behind `=` whole names; behind `^` those that are left out.
/// A port may follow a name behind a colon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct NameList {
    names: Vec<String>,
    are_whole: bool,
    are_left_out: bool,
}

impl NameList {
    fn of(text: &str) -> Self {
        let text = text.trim();
        let (are_left_out, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (are_whole, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        Self { names: names.collect(), are_whole, are_left_out }
    }

    /// Returns whether NCCL takes the adapter of this name.
    fn take(&self, name: &str) -> bool {
        let (adapter, port) = name.split_once(':').unwrap_or((name, ""));
        let fits = |wanted: &String| {
            let (wanted, of_port) = wanted.split_once(':').unwrap_or((wanted, port));
            of_port == port && if self.are_whole { adapter == wanted } else { adapter.starts_with(wanted) }
        };
        self.names.is_empty() || self.names.iter().any(fits) != self.are_left_out
    }
}

/// Returns the rates of the adapters that NCCL would take, by name. Those without a known rate are left out. `sysfs` is
/// [`super::SYSFS`], or another folder of that form.
pub fn rates(sysfs: &Path, choice: &Choice) -> Vec<NicRate> {
    let mut found = if choice.without_infiniband { vec![] } else { infiniband(sysfs) };
    found.retain(|nic| choice.infiniband.take(&nic.name));
    if found.is_empty() {
        found = ethernet(sysfs);
        found.retain(|nic| choice.interfaces.take(&nic.name));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn infiniband(sysfs: &Path) -> Vec<NicRate> {
    let port = |adapter: &str, port: &Path| {
        text(&port.join("state"))?.contains("ACTIVE").then_some(())?;
        // such as `400 Gb/sec (4X NDR)`
        let gigabits: f64 = text(&port.join("rate"))?.split_whitespace().next()?.parse().ok()?;
        let mbit_s = Some((gigabits * 1e3) as u64).filter(|&rate| rate > 0)?;
        Some(NicRate { name: format!("{adapter}:{}", port.file_name()?.to_str()?), mbit_s })
    };
    let ports = |adapter: &str, path: &Path| Some(entries(&path.join("ports"), |_, path| port(adapter, path)));
    entries(&sysfs.join("class/infiniband"), ports).concat()
}

fn ethernet(sysfs: &Path) -> Vec<NicRate> {
    entries(&sysfs.join("class/net"), |name, path| {
        // as for the bytes: bridges, tunnels and loopback have no device
        path.join("device").exists().then_some(())?;
        (text(&path.join("operstate"))?.trim() == "up").then_some(())?;
        // -1 where the rate is not known
        let mbit_s = text(&path.join("speed"))?.trim().parse().ok().filter(|&rate| rate > 0)?;
        Some(NicRate { name: name.into(), mbit_s })
    })
}

fn text(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()
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
    fn nccls_variables_choose_adapters() {
        let takes = |list: &str, names: [&str; 3]| names.map(|name| NameList::of(list).take(name));
        let names = ["mlx5_0:1", "mlx5_1:1", "mlx5_10:1"];
        assert_eq!(takes("", names), [true; 3]);
        assert_eq!(takes("mlx5_1", names), [false, true, true]);
        assert_eq!(takes("=mlx5_1", names), [false, true, false]);
        assert_eq!(takes("^=mlx5_1,mlx5_0", names), [false, false, true]);
        assert_eq!(takes("mlx5_0:2,mlx5_1:1", names), [false, true, true]);
    }

    #[test]
    fn active_ports_count_and_interfaces_where_there_is_none() {
        let root = Folder(std::env::temp_dir().join(format!("scorep-nccl-rates-{}", std::process::id())));
        let write = |path: &str, text: &str| {
            let path = root.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (port, state, rate) in [
            ("mlx5_0/ports/1", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n"),
            ("mlx5_1/ports/1", "1: DOWN\n", "10 Gb/sec (4X SDR)\n"),
            ("mlx5_2/ports/1", "4: ACTIVE\n", "2.5 Gb/sec (1X SDR)\n"),
        ] {
            write(&format!("class/infiniband/{port}/state"), state);
            write(&format!("class/infiniband/{port}/rate"), rate);
        }
        for (name, state, speed) in
            [("eth0", "up\n", "25000\n"), ("eth1", "up\n", "-1\n"), ("eth2", "down\n", "10000\n")]
        {
            write(&format!("class/net/{name}/operstate"), state);
            write(&format!("class/net/{name}/speed"), speed);
            write(&format!("class/net/{name}/device/vendor"), "0x15b3\n");
        }
        write("class/net/lo/operstate", "up\n");
        write("class/net/lo/speed", "100000\n");
        let found = |variables: &[(&str, &str)]| {
            let lookup = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
            let rates = rates(&root.0, &Choice::of(lookup)).into_iter();
            rates.map(|nic| format!("{} {}", nic.name, nic.mbit_s)).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]), ["mlx5_0:1 400000", "mlx5_2:1 2500"]);
        assert_eq!(found(&[("NCCL_IB_HCA", "^mlx5_2")]), ["mlx5_0:1 400000"]);
        for variable in [("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "socket")] {
            assert_eq!(found(&[variable]), ["eth0 25000"]);
        }
        assert_eq!(found(&[("NCCL_NET", "Socket"), ("NCCL_SOCKET_IFNAME", "ib")]), [""; 0]);
        assert_eq!(rates(&root.0.join("nothing"), &Choice::default()), []);
    }
}
