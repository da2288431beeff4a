//! Whose figures these are: machine, process, job and GPU, as far as the environment tells.

mod gpu;

use crate::base::host_name;
use crate::base::rank;
use crate::origin;
use gpu::Gpu;
use std::path::Path;

/// What the environment and the driver tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Name of the machine.
    pub host: String,
    /// Number of the process.
    pub process: u32,
    /// The process as no other of the machine is called.
    pub process_name: String,
    /// Number among the processes of the machine.
    pub local_rank: Option<String>,
    /// SLURM's number of the job.
    pub slurm_job: Option<String>,
    /// SLURM's number of the task.
    pub slurm_task: Option<String>,
    /// The only GPU that the process may use, as CUDA numbers it.
    pub gpu_ordinal: Option<String>,
    /// The same by its name.
    pub gpu_uuid: Option<String>,
    /// Where it is on the machine's PCI bus.
    pub gpu_bus: Option<String>,
}

impl Identity {
    /// Of the process that figures are of: this one, or the one whose recording is replayed, as far as that says.
    pub(crate) fn of_process() -> Self {
        let (process, origin) = origin::of_figures();
        let host = origin.host.unwrap_or_else(|| String::from_utf8_lossy(&host_name::of_machine()).into_owned());
        let lookup = |name: &str| origin::variable(name);
        let own = process_name(std::process::id(), std::fs::read_link("/proc/self/ns/pid").ok().as_deref());
        if origin.file.is_some() {
            // numbers of processes come again on other machines, and a recording may be replayed twice at a time
            let process_name = format!("{process}-{own}");
            return Self { host, process, process_name, ..Self::told(lookup) };
        }
        let told = Self { host, process, process_name: own, ..Self::told(lookup) };
        told.with(Gpu::of_process(lookup, Path::new("/")))
    }

    /// What the driver tells of the GPU besides.
    fn with(self, gpu: Option<Gpu>) -> Self {
        let (bus, uuid) = gpu.map_or((None, None), |gpu| (Some(gpu.bus), gpu.uuid));
        Self { gpu_uuid: self.gpu_uuid.or(uuid), gpu_bus: bus, ..self }
    }

    fn told(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        // of several it is not known which is this process'
        let gpu = text("CUDA_VISIBLE_DEVICES").filter(|devices| !devices.contains(','));
        let (ordinal, uuid) = match gpu {
            Some(gpu) if gpu.bytes().all(|byte| byte.is_ascii_digit()) => (Some(gpu), None),
            Some(gpu) if gpu.starts_with("GPU-") || gpu.starts_with("MIG-") => (None, Some(gpu)),
            _ => (None, None),
        };
        Self {
            local_rank: rank::LOCAL.into_iter().find_map(text),
            slurm_job: text("SLURM_JOB_ID"),
            slurm_task: text("SLURM_PROCID"),
            gpu_ordinal: ordinal,
            gpu_uuid: uuid,
            ..Self::default()
        }
    }
}

/// A process' number; with that of its namespace behind it, where that is not the machine's own: containers on one
/// machine have processes of the same number.
fn process_name(number: u32, namespace: Option<&Path>) -> String {
    // the kernel's constant for the first one, PROC_PID_INIT_INO
    const OF_THE_MACHINE: &str = "4026531836";
    let namespace = namespace.and_then(Path::to_str).and_then(|link| link.strip_prefix("pid:[")?.strip_suffix(']'));
    match namespace {
        Some(namespace) if namespace != OF_THE_MACHINE => format!("{number}-{namespace}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pairs: &[(&str, &str)]) -> Identity {
        Identity::told(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(told(&[("CUDA_VISIBLE_DEVICES", "0,1"), ("LOCAL_RANK", " ")]), Identity::default());
    }

    #[test]
    fn what_is_told_is_taken() {
        let found = told(&[
            ("SLURM_JOB_ID", "7"),
            ("SLURM_PROCID", "3"),
            ("SLURM_LOCALID", "1"),
            ("CUDA_VISIBLE_DEVICES", "2"),
        ]);
        let [job, task, local, gpu] = ["7", "3", "1", "2"].map(|text| Some(text.to_owned()));
        let expected =
            Identity { slurm_job: job, slurm_task: task, local_rank: local, gpu_ordinal: gpu, ..Identity::default() };
        assert_eq!(found, expected);
        assert_eq!(told(&[("CUDA_VISIBLE_DEVICES", "GPU-8a")]).gpu_uuid.as_deref(), Some("GPU-8a"));
        // what the environment says of the GPU stays
        let gpu = || Some(Gpu { bus: "0000:65:00.0".into(), uuid: Some("GPU-8a-0".into()) });
        let names = |found: Identity| (found.gpu_bus, found.gpu_uuid);
        let both = |uuid: &str| (Some("0000:65:00.0".to_owned()), Some(uuid.to_owned()));
        assert_eq!(names(told(&[("CUDA_VISIBLE_DEVICES", "MIG-8a")]).with(gpu())), both("MIG-8a"));
        assert_eq!(names(told(&[]).with(gpu())), both("GPU-8a-0"));
    }

    #[test]
    fn a_process_in_a_container_is_not_the_machines() {
        let of = |link: Option<&str>| process_name(7, link.map(Path::new));
        assert_eq!([None, Some("pid:[4026531836]"), Some("pid:[4026532290]")].map(of), ["7", "7", "7-4026532290"]);
    }
}
