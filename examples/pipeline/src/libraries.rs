//! NVIDIA's libraries, which are looked up when the program runs.

use anyhow::{Result, bail};
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The names by which cudarc looks for a library, beside those which installations have: NVIDIA's Python packages and
/// packages without headers have no `libnccl.so`.
const NAMES: [(&str, &[&str]); 2] =
    [("libnccl.so", &["libnccl.so.2"]), ("libcublas.so", &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"])];
const SEARCHED: &str = "LD_LIBRARY_PATH";
/// Where else the dynamic linker looks, on most systems.
const USUAL: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/cuda/lib64",
];

/// Links to libraries under the names that cudarc looks for; they go with this value.
#[derive(Debug)]
pub struct Links {
    directory: TempDir,
}

impl Links {
    /// Makes the links that are missing.
    ///
    /// # Errors
    ///
    /// There is no place for temporary files.
    pub fn new() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("pipeline.").tempdir()?;
        let searched: Vec<PathBuf> =
            std::env::var_os(SEARCHED).map(|all| std::env::split_paths(&all).collect()).unwrap_or_default();
        let places: Vec<&Path> = searched.iter().map(PathBuf::as_path).chain(USUAL.iter().map(Path::new)).collect();
        for (name, versions) in NAMES {
            if let Some(file) = found(&places, name, versions) {
                symlink(file, directory.path().join(name))?;
            }
        }
        Ok(Self { directory })
    }

    /// Returns the variable by which a process finds them, and its value.
    pub fn variable(&self) -> (&'static str, OsString) {
        let mut value = self.directory.path().as_os_str().to_owned();
        if let Some(others) = std::env::var_os(SEARCHED).filter(|others| !others.is_empty()) {
            value.push(":");
            value.push(others);
        }
        (SEARCHED, value)
    }
}

/// Returns the file to link to: none if the name is there itself.
fn found(places: &[&Path], name: &str, versions: &[&str]) -> Option<PathBuf> {
    if places.iter().any(|place| place.join(name).exists()) {
        return None;
    }
    let mut files = versions.iter().flat_map(|version| places.iter().map(move |place| place.join(version)));
    files.find(|file| file.exists())
}

/// What makes a stage a node of its own to NCCL: the name of the node's variable, and the network over loopback.
pub const NODE: &str = "NCCL_HOSTID";
/// See [`NODE`].
pub const LOOPBACK: [(&str, &str); 2] = [("NCCL_NET", "Socket"), ("NCCL_SOCKET_IFNAME", "lo")];

/// Returns the number of GPUs that the stages can use. Stages on nodes of their own may share one.
///
/// # Errors
///
/// What is missing, and the way out: one line.
pub fn gpus(stages: usize) -> Result<usize> {
    // SAFETY: NVIDIA's libraries do nothing when they are loaded that would not be done later
    let driver = unsafe { cudarc::driver::sys::is_culib_present() };
    // SAFETY: as above
    let cublas = unsafe { cudarc::cublas::sys::is_culib_present() };
    // SAFETY: as above; a single stage has nobody to talk to
    let nccl = stages == 1 || unsafe { cudarc::nccl::sys::is_culib_present() };
    for (is_here, name, from) in
        [(driver, "libcuda.so", "NVIDIA's driver"), (cublas, "libcublas.so", "CUDA"), (nccl, "libnccl.so", "NCCL")]
    {
        if !is_here {
            bail!("no GPU can be used: {name} of {from} is not found; {SEARCHED} may name its directory");
        }
    }
    let count = cudarc::driver::CudaContext::device_count().unwrap_or(0);
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        bail!("no GPU can be used: CUDA sees none");
    }
    if stages > 1 && count == 1 && std::env::var_os(NODE).is_none() {
        bail!(
            "{stages} stages need 2 GPUs, since NCCL connects no two processes of a node on one: there is 1, which \
             --pretended-nodes shares"
        );
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_linked_unless_its_name_is_there() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let places = [one.path(), other.path()];
        assert_eq!(found(&places, "libnccl.so", &["libnccl.so.2"]), None);
        let file = other.path().join("libnccl.so.2");
        std::fs::write(&file, "").unwrap();
        assert_eq!(found(&places, "libnccl.so", &["libnccl.so.3", "libnccl.so.2"]), Some(file));
        std::fs::write(one.path().join("libnccl.so"), "").unwrap();
        assert_eq!(found(&places, "libnccl.so", &["libnccl.so.2"]), None);
    }
}
