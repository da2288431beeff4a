//! The rate of a device's PCIe link, as Linux shows it.

use std::fs;
use std::path::Path;

/// Returns the largest rate of a device's link, Mbit/s in one direction: the lesser of what the device and the port above
/// it can do. The present rate is no measure, since an idle link is slowed down. `bus` is the place on the PCI bus,
/// `sysfs` the folder of the kernel's devices. `None` where the kernel does not know it.
pub fn mbit_s(sysfs: &Path, bus: &str) -> Option<u64> {
    let device = sysfs.join("bus/pci/devices").join(bus.to_lowercase()).canonicalize().ok()?;
    let of_port = device.parent().and_then(of);
    Some(of_port.map_or(of(&device)?, |port| port.min(of(&device).unwrap_or(port))))
}

fn of(device: &Path) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(device.join(name)).ok();
    let speed = text("max_link_speed")?;
    let gigatransfers: f64 = speed.split_whitespace().next()?.parse().ok()?;
    let width: f64 = text("max_link_width")?.trim().parse().ok()?;
    // PCI Express Base Specification: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, FLITs of 242 in 256 bytes at 64 GT/s
    let coding = match gigatransfers {
        rate if rate < 8.0 => 8.0 / 10.0,
        rate if rate < 64.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    };
    Some((gigatransfers * width * coding * 1e3) as u64).filter(|&rate| rate > 0)
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
    fn the_slower_of_device_and_port_counts() {
        let root = Folder(std::env::temp_dir().join(format!("scorep-nccl-pcie-{}", std::process::id())));
        let port = root.0.join("devices/port");
        let write = |place: &Path, speed: &str, width: &str| {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join("max_link_speed"), speed).unwrap();
            fs::write(place.join("max_link_width"), width).unwrap();
        };
        write(&port, "16.0 GT/s PCIe\n", "16\n");
        write(&port.join("0000:0a:00.0"), "32.0 GT/s PCIe\n", "16\n");
        write(&root.0.join("devices/none/0000:0b:00.0"), "Unknown\n", "255\n");
        fs::create_dir_all(root.0.join("bus/pci/devices")).unwrap();
        for (bus, at) in [("0000:0a:00.0", "port"), ("0000:0b:00.0", "none")] {
            let place = root.0.join("bus/pci/devices").join(bus);
            std::os::unix::fs::symlink(root.0.join("devices").join(at).join(bus), place).unwrap();
        }
        assert_eq!(mbit_s(&root.0, "0000:0A:00.0"), Some(252_061));
        assert_eq!([mbit_s(&root.0, "0000:0B:00.0"), mbit_s(&root.0, "0000:0C:00.0")], [None; 2]);
    }
}
