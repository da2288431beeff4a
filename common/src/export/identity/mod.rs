//! The identity of the figures' process: machine, process, job and GPU, as far as the environment tells.

mod gpu;

use crate::base::host_name;
use crate::base::rank;
use crate::origin;
use gpu::ExportedGpu;
use std::path::Path;

/// The identity of a process, from its environment and the driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    /// Name of the machine.
    pub host: String,
    /// Process id.
    pub process: u32,
    /// A name of the process that is unique on the machine.
    pub process_name: String,
    /// Its rank among the processes of the machine.
    pub local_rank: Option<String>,
    /// SLURM's job id.
    pub slurm_job: Option<String>,
    /// SLURM's task id.
    pub slurm_task: Option<String>,
    /// The only GPU that the process may use, by CUDA's number.
    pub gpu_ordinal: Option<String>,
    /// The UUID of that GPU.
    pub gpu_uuid: Option<String>,
    /// The place of that GPU on the PCI bus.
    pub gpu_bus: Option<String>,
}

impl ProcessIdentity {
    /// Returns the identity of the process that the figures belong to: this process, or the recorded process in a
    /// replay, as far as the recording has it.
    pub(crate) fn of_process() -> Self {
        let (process, origin) = origin::of_figures();
        let host = origin.host.unwrap_or_else(|| String::from_utf8_lossy(&host_name::of_machine()).into_owned());
        let lookup = |name: &str| origin::variable(name);
        let own = process_name(std::process::id(), std::fs::read_link("/proc/self/ns/pid").ok().as_deref());
        if origin.file.is_some() {
            // process ids repeat on other machines, and two replays of a recording may run at a time
            let process_name = format!("{process}-{own}");
            return Self { host, process, process_name, ..Self::told(lookup) };
        }
        let told = Self { host, process, process_name: own, ..Self::told(lookup) };
        told.with(ExportedGpu::of_process(lookup, Path::new("/")))
    }

    /// Adds what the driver tells of the GPU.
    fn with(self, gpu: Option<ExportedGpu>) -> Self {
        let (bus, uuid) = gpu.map_or((None, None), |gpu| (Some(gpu.bus), gpu.uuid));
        Self { gpu_uuid: self.gpu_uuid.or(uuid), gpu_bus: bus, ..self }
    }

    fn told(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        // of several GPUs, it is not known which one is this process'
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

/// Returns a process id with that of its namespace behind it, unless the namespace is the machine's own: containers on
/// one machine may have processes of the same id.
fn process_name(number: u32, namespace: Option<&Path>) -> String {
    // the kernel's constant for the first namespace, PROC_PID_INIT_INO
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

    fn told(pairs: &[(&str, &str)]) -> ProcessIdentity {
        ProcessIdentity::told(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(told(&[("CUDA_VISIBLE_DEVICES", "0,1"), ("LOCAL_RANK", " ")]), ProcessIdentity::default());
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
        let expected = ProcessIdentity {
            slurm_job: job,
            slurm_task: task,
            local_rank: local,
            gpu_ordinal: gpu,
            ..ProcessIdentity::default()
        };
        assert_eq!(found, expected);
        assert_eq!(told(&[("CUDA_VISIBLE_DEVICES", "GPU-8a")]).gpu_uuid.as_deref(), Some("GPU-8a"));
        // what the environment says of the GPU takes precedence
        let gpu = || Some(ExportedGpu { bus: "0000:65:00.0".into(), uuid: Some("GPU-8a-0".into()) });
        let names = |found: ProcessIdentity| (found.gpu_bus, found.gpu_uuid);
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
