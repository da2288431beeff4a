//! A SLURM of two pretended nodes on this machine: its daemons run for as long as a [`Cluster`] lives, from a directory
//! of their own. Nothing of the machine's SLURM or MUNGE is touched.

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::slurm::{installation, prefix, processes};
use crate::support::tool;
use crate::support::until::PATIENCE;

/// What must be installed: the packages are munge, slurmctld, slurmd and slurm-client.
const PROGRAMS: [&str; 9] =
    ["munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol", "squeue", "sinfo"];

/// A node in namespaces of its own, with a name that no other has and that it can look up. `$0` is the name, `$1` the
/// table of hosts.
const OWN_NAME: &str = r#"mount --bind "$1" /etc/hosts && hostname "$0" && exec slurmd -D -N "$0""#;

pub(crate) struct Cluster {
    directory: TempDir,
    /// What slurmctld has on stable storage before it answers: in memory, as it answers nobody while a busy disk takes
    /// its time.
    _state: TempDir,
    daemons: Vec<Child>,
    /// Whether its nodes have names of their own; this machine's otherwise, where a container forbids it.
    pub(crate) has_own_names: bool,
}

/// Why this machine cannot have one.
fn missing() -> Option<String> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &&str| std::env::split_paths(&places).any(|place| place.join(program).is_file());
    if let Some(program) = PROGRAMS.iter().find(|program| !has(program)) {
        return Some(format!("SLURM's daemons are not installed: no {program} on PATH (`make test-packages`)"));
    }
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    (!is_root).then(|| "SLURM's daemons take root".to_owned())
}

/// A daemon, its output in a file; it ends with the thread that starts it.
fn spawn(directory: &Path, name: &str, program: &[&str]) -> Child {
    let mut command = installation::command("setpriv");
    let output = File::create(directory.join(name).with_extension("out")).unwrap();
    command.args(["--pdeathsig", "KILL", "--"]).args(program).env("SLURM_CONF", directory.join("slurm.conf"));
    command.stdin(Stdio::null()).stderr(output.try_clone().unwrap()).stdout(output);
    command.spawn().unwrap()
}

fn last_line(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default().lines().last().unwrap_or("it wrote nothing").to_owned()
}

/// Ports that nobody has. The system gives none of these to programs that leave the choice to it, and another process
/// that runs this test begins elsewhere.
fn ports() -> [u16; 3] {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    [(); 3].map(|()| {
        loop {
            let tried = TRIED.fetch_add(1, Ordering::Relaxed);
            let port = 10_000 + (std::process::id().wrapping_mul(101).wrapping_add(tried) % 20_000) as u16;
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return port;
            }
        }
    })
}

fn configure(directory: &Path, state: &Path, files: &[(&str, &str)]) {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap();
    let at = directory.display();
    let [controller, first, second] = ports();
    let node = |name: &str, port| {
        format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 Gres=gpu:4")
    };
    let mut lines = vec![
        "ClusterName=pretended".to_owned(),
        format!("SlurmctldHost={host}(127.0.0.1)"),
        format!("SlurmctldPort={controller}"),
        // MPI names what it shares on a machine after host and job: two clusters at a time must not have the same
        format!("FirstJobId={controller}"),
        "SlurmUser=root".to_owned(),
        "SlurmdUser=root".to_owned(),
        format!("AuthInfo=socket={at}/munge.socket"),
        format!("StateSaveLocation={}", state.display()),
        // so that a machine that is busy is no failure
        format!("MessageTimeout={}", PATIENCE.as_secs() / 2),
        format!("SlurmctldPidFile={at}/slurmctld.pid"),
        // %n is the node: what two daemons of one machine would have in common otherwise
        format!("SlurmdPidFile={at}/%n.pid"),
        format!("SlurmdSpoolDir={at}/%n.spool"),
        format!("TmpFS={at}/%n.tmp"),
        // no cgroups, which a container may not have
        "ProctrackType=proctrack/linuxproc".to_owned(),
        "TaskPlugin=task/none".to_owned(),
        "JobAcctGatherType=jobacct_gather/none".to_owned(),
        "SelectType=select/cons_tres".to_owned(),
        "SelectTypeParameters=CR_CPU".to_owned(),
        "MailProg=/bin/true".to_owned(),
        // nodes are as large as is written here, whatever this machine has
        "SlurmdParameters=config_overrides".to_owned(),
        "GresTypes=gpu".to_owned(),
        // SIGTERM must do: a job that waits for SIGKILL takes longer than the tests have patience
        format!("KillWait={}", 2 * PATIENCE.as_secs()),
        node("node1", first),
        node("node2", second),
        "PartitionName=main Nodes=ALL Default=YES State=UP".to_owned(),
    ];
    lines.extend(files.iter().map(|(setting, file)| format!("{setting}={at}/{file}")));
    std::fs::write(directory.join("slurm.conf"), lines.join("\n") + "\n").unwrap();
    // a device each, of which nothing is used but the number
    std::fs::write(
        directory.join("gres.conf"),
        "NodeName=node[1-2] Name=gpu File=/dev/null,/dev/zero,/dev/full,/dev/random\n",
    )
    .unwrap();
    // Score-P tells nodes apart by their addresses
    std::fs::write(directory.join("hosts"), "127.0.0.1 localhost\n127.0.1.1 node1\n127.0.1.2 node2\n").unwrap();
    let key = directory.join("munge.key");
    let mut random = [0; 128];
    File::open("/dev/urandom").unwrap().read_exact(&mut random).unwrap();
    std::fs::write(&key, random).unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    for name in ["node1.tmp", "node2.tmp"] {
        std::fs::create_dir(directory.join(name)).unwrap();
    }
}

impl Cluster {
    /// Both nodes ready for jobs, with these settings, each of a file in the cluster's directory; nothing where this
    /// machine cannot have them, which is said once.
    pub(crate) fn start(files: &[(&str, &str)]) -> Option<Self> {
        static SAID: std::sync::Once = std::sync::Once::new();
        let started = match missing() {
            Some(what) => Err(what),
            None => Self::try_start(files),
        };
        started.map_err(|what| SAID.call_once(|| tool::skip(&what))).ok()
    }

    fn try_start(files: &[(&str, &str)]) -> Result<Self, String> {
        let mut place = tempfile::Builder::new();
        place.prefix("scorep-nccl-slurm-");
        let directory = place.tempdir().unwrap();
        let state = place.tempdir_in("/dev/shm").or_else(|_| place.tempdir()).unwrap();
        // MUNGE wants all to reach its socket
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        configure(directory.path(), state.path(), files);
        prefix::install(&directory.path().join("installed"));
        let mut probe = Command::new("unshare");
        let has_own_names =
            probe.args(["--uts", "--mount", "true"]).stderr(Stdio::null()).status().is_ok_and(|done| done.success());
        let mut cluster = Self { directory, _state: state, daemons: Vec::new(), has_own_names };
        cluster.spawn_daemons()?;
        Ok(cluster)
    }

    fn spawn_daemons(&mut self) -> Result<(), String> {
        let at = |name: &str| self.path(name).display().to_string();
        let file = |option: &str, name: &str| format!("--{option}-file={}", at(name));
        let files = [("key", "munge.key"), ("pid", "munge.pid"), ("log", "munge.log"), ("seed", "munge.seed")];
        let files = files.map(|(option, name)| file(option, name));
        let (socket, hosts) = (format!("--socket={}", at("munge.socket")), at("hosts"));
        let mut munged = vec!["munged", "--foreground", &socket];
        munged.extend(files.iter().map(String::as_str));
        self.daemons.push(spawn(self.directory.path(), "munged", &munged));
        self.await_daemons(&["munged"], |cluster| cluster.path("munge.socket").exists())?;
        self.daemons.push(spawn(self.directory.path(), "slurmctld", &["slurmctld", "-D", "-i"]));
        for node in ["node1", "node2"] {
            let own_name = ["unshare", "--uts", "--mount", "sh", "-c", OWN_NAME, node, &hosts];
            let plain = ["slurmd", "-D", "-N", node];
            let program: &[&str] = if self.has_own_names { &own_name } else { &plain };
            self.daemons.push(spawn(self.directory.path(), node, program));
        }
        self.await_daemons(&["munged", "slurmctld", "node1", "node2"], |cluster| {
            let nodes = cluster.command("sinfo").args(["--noheader", "--Node", "--format=%N %T"]).output().unwrap();
            String::from_utf8_lossy(&nodes.stdout).lines().collect::<Vec<_>>() == ["node1 idle", "node2 idle"]
        })
    }

    /// Waits until they are ready, all of those names alive.
    fn await_daemons(&mut self, names: &[&str], ready: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !ready(self) {
            let mut daemons = self.daemons.iter_mut().zip(names);
            let ended =
                daemons.find_map(|(daemon, name)| daemon.try_wait().unwrap().map(|status| (*name, status.to_string())));
            let late = (begun.elapsed() > PATIENCE / 2).then(|| (names[names.len() - 1], "still not ready".to_owned()));
            if let Some((name, what)) = ended.or(late) {
                let said = last_line(&self.path(name).with_extension("out"));
                return Err(format!("SLURM does not run here: {name}: {what}; its last line: {said}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// A file of its directory, which the tests may use, too.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A program that talks to it, in its directory; with no setting of whoever runs the tests.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = installation::command(program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("SLURM") || name.starts_with("SBATCH_") {
                command.env_remove(&*name);
            }
        }
        command.env("SLURM_CONF", self.path("slurm.conf")).current_dir(self.directory.path());
        command
    }

    /// What gethostname tells there.
    pub(crate) fn name_of(&self, node: &str) -> String {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        if self.has_own_names { node.to_owned() } else { own.trim().to_owned() }
    }
}

impl Drop for Cluster {
    /// Ends all there is, however a test ends: the daemons, then what they leave.
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        processes::end_all_of(self.directory.path());
    }
}
