//! The process' GPU, as NVIDIA's driver describes it. NCCL does not name the GPU to a profiler, and the library must
//! not call CUDA for it. The driver has a directory for each GPU, named by its place on the PCI bus, that any process
//! may read.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExportedGpu {
    /// Its place on the PCI bus, as CUDA writes it.
    pub(super) bus: String,
    /// Its UUID, if the driver knows it already.
    pub(super) uuid: Option<String>,
}

impl ExportedGpu {
    /// Finds the GPU that this process uses, if that is certain: the only GPU that the process may open, or the GPU
    /// that CUDA's variables name. `root` is the root of the file system.
    pub(super) fn of_process(lookup: impl Fn(&str) -> Option<String>, root: &Path) -> Option<Self> {
        let mut gpus = usable(root);
        let visible = lookup("CUDA_VISIBLE_DEVICES");
        let visible = visible.as_deref().map(str::trim).unwrap_or_default();
        let by_bus = lookup("CUDA_DEVICE_ORDER").is_some_and(|order| order.trim() == "PCI_BUS_ID");
        if visible.starts_with("GPU-") {
            // CUDA accepts the beginning of a UUID, too
            gpus.retain(|gpu| gpu.uuid.as_ref().is_some_and(|uuid| uuid.starts_with(visible)));
        } else if by_bus && let Ok(number) = visible.parse() {
            gpus = gpus.into_iter().skip(number).take(1).collect();
        }
        // of several GPUs, it is not known which one the process uses
        gpus.pop().filter(|_| gpus.is_empty())
    }

    /// Reads the driver's directory of a GPU, if this process may open the GPU. CUDA's numbers leave out GPUs that a
    /// job may not open.
    fn of_directory(directory: &Path, root: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join("information")).ok()?;
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let minor: u32 = field("Device Minor")?.parse().ok()?;
        may_open(&root.join(format!("dev/nvidia{minor}"))).then_some(())?;
        // the driver writes question marks for a UUID that it does not know yet
        let uuid = field("GPU UUID").filter(|uuid| uuid.starts_with("GPU-") && !uuid.contains('?'));
        Some(Self { bus: directory.file_name()?.to_str()?.to_uppercase(), uuid: uuid.map(str::to_owned) })
    }
}

/// Returns the GPUs that this process may open, in the order of their places.
fn usable(root: &Path) -> Vec<ExportedGpu> {
    let Ok(directories) = root.join("proc/driver/nvidia/gpus").read_dir() else { return vec![] };
    let mut gpus: Vec<ExportedGpu> =
        directories.flatten().filter_map(|entry| ExportedGpu::of_directory(&entry.path(), root)).collect();
    gpus.sort_by(|one, other| one.bus.cmp(&other.bus));
    gpus
}

/// Returns whether this process may open the device. Does not open it, which would wake the GPU up.
fn may_open(device: &Path) -> bool {
    let Ok(path) = CString::new(device.as_os_str().as_bytes()) else { return false };
    // SAFETY: `access` only reads the path, and `CString` guarantees its terminating zero.
    unsafe { libc::access(path.as_ptr(), libc::R_OK | libc::W_OK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A machine with GPUs: place, UUID, and whether this process may open it.
    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str, gpus: &[(&str, &str, bool)]) -> Self {
            let root = std::env::temp_dir().join(format!("scorep-nccl-gpu-{name}-{}", std::process::id()));
            fs::create_dir_all(root.join("dev")).unwrap();
            for (minor, (bus, uuid, opens)) in gpus.iter().enumerate() {
                let directory = root.join("proc/driver/nvidia/gpus").join(bus);
                fs::create_dir_all(&directory).unwrap();
                let text = format!(
                    "Model: \t\t NVIDIA H200\nGPU UUID: \t {uuid}\nBus Location: \t {bus}\nDevice Minor: \t {minor}\n"
                );
                fs::write(directory.join("information"), text).unwrap();
                if *opens {
                    fs::write(root.join(format!("dev/nvidia{minor}")), "").unwrap();
                }
            }
            Self(root)
        }

        fn bus(&self, pairs: &[(&str, &str)]) -> Option<String> {
            let lookup = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
            ExportedGpu::of_process(lookup, &self.0).map(|gpu| gpu.bus)
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
    const BY_BUS: (&str, &str) = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID");

    #[test]
    fn the_only_one_is_it() {
        let machine = Machine::new("one", &[("0000:0a:00.0", "GPU-1a", true)]);
        for pairs in
            [&[][..], &[(VISIBLE, "0")], &[(VISIBLE, "GPU-1a")], &[(VISIBLE, "MIG-7")], &[(VISIBLE, "0"), BY_BUS]]
        {
            assert_eq!(machine.bus(pairs).as_deref(), Some("0000:0A:00.0"), "{pairs:?}");
        }
        for pairs in [&[(VISIBLE, "GPU-2b")][..], &[(VISIBLE, "1"), BY_BUS]] {
            assert_eq!(machine.bus(pairs), None, "{pairs:?}");
        }
    }

    #[test]
    fn of_several_it_is_the_one_that_is_named() {
        let gpus =
            [("0000:b1:00.0", "GPU-1a", true), ("0000:0a:00.0", "GPU-1b", true), ("0000:65:00.0", "GPU-??????", true)];
        let machine = Machine::new("several", &gpus);
        for (pairs, bus) in [
            (&[(VISIBLE, "GPU-1b")][..], Some("0000:0A:00.0")),
            (&[(VISIBLE, " GPU-1a ")], Some("0000:B1:00.0")),
            (&[(VISIBLE, "1"), BY_BUS], Some("0000:65:00.0")),
            // CUDA's own order is not known, nor which of several GPUs the process uses
            (&[(VISIBLE, "1")], None),
            (&[(VISIBLE, "GPU-1")], None),
            (&[(VISIBLE, "0,1"), BY_BUS], None),
            (&[(VISIBLE, "MIG-7"), BY_BUS], None),
            (&[BY_BUS], None),
            (&[], None),
        ] {
            assert_eq!(machine.bus(pairs).as_deref(), bus, "{pairs:?}");
        }
    }

    #[test]
    fn those_that_it_may_not_open_do_not_count() {
        let gpus =
            [("0000:0a:00.0", "GPU-1a", false), ("0000:65:00.0", "GPU-1b", true), ("0000:b1:00.0", "GPU-1c", false)];
        let machine = Machine::new("limits", &gpus);
        assert_eq!(machine.bus(&[(VISIBLE, "0")]).as_deref(), Some("0000:65:00.0"));
        assert_eq!(machine.bus(&[(VISIBLE, "0"), BY_BUS]).as_deref(), Some("0000:65:00.0"));
        assert_eq!(machine.bus(&[(VISIBLE, "GPU-1a")]), None);
    }

    #[test]
    fn without_the_driver_there_is_none() {
        assert_eq!(Machine::new("none", &[]).bus(&[(VISIBLE, "0"), BY_BUS]), None);
    }
}
