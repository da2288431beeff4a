//! Jobs on a [`Cluster`], whose tasks play a capture each: how they are started, and what they leave.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::slurm::cluster::Cluster;
use crate::slurm::{installation, prefix};
use crate::support::tool;
use crate::support::until::{PATIENCE, until};
use installation::Model;

/// What SLURM needs to know of a job of four ranks on two nodes.
pub(crate) const FOUR_ON_TWO: [&str; 4] =
    ["--nodes=2", "--ntasks-per-node=2", "--gpus-per-node=2", "--cpus-per-task=2"];

/// What a task tells of itself, and does: PROGRAM with all captures, where MPI tells it its rank, otherwise with the
/// one of its rank.
const TASK: &str = r#"#!/bin/sh
rank=${RANK:-$SLURM_PROCID}
{ echo "TASK_HOST=$(cat /proc/sys/kernel/hostname)" && echo "TASK_PID=$$" && env; } > "task.$rank.new"
mv "task.$rank.new" "task.$rank"
"#;

/// One task, as it found itself.
pub(crate) struct Task(BTreeMap<String, String>);

impl Task {
    /// A variable of its environment; and `TASK_HOST`, `TASK_PID`.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn process(&self) -> u32 {
        self.variable("TASK_PID").unwrap().parse().unwrap()
    }
}

/// A job to be, in a directory of the cluster's that is its own.
pub(crate) struct Job<'a> {
    cluster: &'a Cluster,
    pub(crate) directory: PathBuf,
    captures: Vec<PathBuf>,
    environment: Vec<(String, String)>,
}

impl<'a> Job<'a> {
    /// Its tasks will play that program, with these captures by their ranks.
    pub(crate) fn new(
        cluster: &'a Cluster,
        name: &str,
        program: &[&OsStr],
        with_mpi: bool,
        captures: &[PathBuf],
    ) -> Self {
        let directory = cluster.path(name);
        std::fs::create_dir(&directory).unwrap();
        let words: Vec<String> = program.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
        let play = if with_mpi { r#"exec PROGRAM "$@""# } else { r#"shift "$rank"; exec PROGRAM "$1""# };
        let text = format!("{TASK}{}\n", play.replace("PROGRAM", &words.join(" ")));
        std::fs::write(directory.join("task"), text).unwrap();
        std::fs::set_permissions(directory.join("task"), PermissionsExt::from_mode(0o755)).unwrap();
        let job = Self { cluster, directory, captures: captures.to_vec(), environment: Vec::new() }
            .with("SLURM_MPI_TYPE", if with_mpi { "pmix" } else { "none" })
            // there are more of MPI's processes than processors
            .with("OMPI_MCA_mpi_yield_when_idle", "1");
        // nodes of one name would share what has the name of the node
        if cluster.has_own_names { job } else { job.with("OMPI_MCA_btl", "tcp,self") }
    }

    /// With this variable in the environment that it is submitted from.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// With a summary of each process.
    pub(crate) fn with_summaries(self) -> Self {
        let place = self.directory.join("%h.%p.json");
        self.with("NCCL_SCOREP_SUMMARY", place.to_str().unwrap())
    }

    /// A program of SLURM's, where the job is submitted.
    fn command(&self, program: &str) -> Command {
        let mut command = self.cluster.command(program);
        command.env("PATH", prefix::path(&self.cluster.path("installed"), &command));
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).current_dir(&self.directory);
        command
    }

    /// Runs it to its good end; what it printed into that file.
    fn finish(&self, mut command: Command, output: &str) -> String {
        command.arg("./task").args(&self.captures).stdin(Stdio::null());
        let [submitted, errors] = ["submitted", "errors"].map(|name| File::create(self.directory.join(name)).unwrap());
        let status = tool::ends(command.stdout(submitted).stderr(errors), PATIENCE, "the job");
        let [said, errors] =
            [output, "errors"].map(|name| std::fs::read_to_string(self.directory.join(name)).unwrap_or_default());
        assert!(status.success(), "{status}: {errors}{said}");
        said
    }

    /// Under srun, four tasks.
    pub(crate) fn srun(&self) -> String {
        let mut command = self.command("srun");
        command.args(FOUR_ON_TWO);
        self.finish(command, "submitted")
    }

    /// By a job script, with these options besides its own.
    pub(crate) fn sbatch(&self, script: &Path, options: &[&str]) -> String {
        let mut command = self.command("sbatch");
        command.args(["--wait", "--output=output"]).args(options).arg(script);
        self.finish(command, "output")
    }

    /// Submits four tasks, and waits until they have all begun; the job's number.
    pub(crate) fn begin(&self) -> String {
        let mut command = self.command("sbatch");
        let captures: Vec<String> = self.captures.iter().map(|path| format!("'{}'", path.display())).collect();
        let wrapped = format!("srun ./task {}", captures.join(" "));
        command.args(FOUR_ON_TWO).args(["--parsable", "--output=output", "--wrap", &wrapped]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let number = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        until("the beginning of four tasks", || (self.tasks().len() == 4).then_some(()));
        number
    }

    /// Those that have begun, by rank.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        let read = |rank: usize| std::fs::read_to_string(self.directory.join(format!("task.{rank}"))).ok();
        let variables = |text: String| {
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        (0..self.captures.len()).filter_map(read).map(|text| Task(variables(text))).collect()
    }

    /// The summary that a task's process has written, by the name that it must have.
    pub(crate) fn summary_of(&self, task: &Task) -> Value {
        let name = format!("{}.{}.json", task.variable("TASK_HOST").unwrap(), task.process());
        let path = self.directory.join(name);
        let text = std::fs::read_to_string(&path);
        assert!(text.is_ok(), "{}: {}", path.display(), text.unwrap_err());
        serde_json::from_str(&text.unwrap()).unwrap()
    }
}

/// The application: with Score-P, where there is one, and whether MPI tells it its rank.
pub(crate) fn application(model: Model) -> (PathBuf, bool) {
    if installation::is_there(model) {
        (installation::application(model), model == Model::Mpi)
    } else {
        (env!("HOST_REPLAY_APP").into(), false)
    }
}
