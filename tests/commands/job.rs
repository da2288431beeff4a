//! A job in a directory of its own: the installed tool, and stand-ins for launchers, Python and a program that uses
//! NCCL.

use crate::support::site::{Site, texts};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Starts a command once a rank, as launchers do.
const LAUNCH: &str = r#"
launch() {
  count=$1 name=$2; shift 2
  rank=0
  while [ $rank -lt $count ]; do env $name=$rank "$@" || exit; rank=$((rank + 1)); done
}"#;

/// A program that makes an all-reduce with NCCL, if NCCL would load a plugin, and leaves word of what it was started
/// with.
const PROGRAM: &str = r#"
echo > "program.${OMPI_COMM_WORLD_RANK:-0}.$SCOREP_METRIC_PLUGINS.$SCOREP_SUBSTRATE_PLUGINS"
"#;

/// Where commands of the documentation are run.
pub(crate) struct Job {
    site: Site,
}

impl Job {
    pub(crate) fn new() -> Self {
        let site = Site::new();
        let program = format!(
            "case $NCCL_PROFILER_PLUGIN in *.so) file=$NCCL_PROFILER_PLUGIN ;; *) file=libnccl-profiler-$NCCL_PROFILER_PLUGIN.so ;; esac\n\
             exec {} \"$file\" 5",
            env!("HOST_ALL_REDUCE_HOST")
        );
        site.script("work/program", &format!("{PROGRAM}{program}"));
        // Score-P makes the experiment's directory
        site.script(
            "bin/python",
            &format!("case $* in *scorep*) mkdir \"$SCOREP_EXPERIMENT_DIRECTORY\";; esac{PROGRAM}{program}"),
        );
        site.script(
            "bin/mpirun",
            &format!("{LAUNCH}\n[ \"$1\" = -n ] && count=$2 && shift 2 && launch $count OMPI_COMM_WORLD_RANK \"$@\""),
        );
        site.script("bin/srun", "exec \"$@\"");
        let torchrun = "export TORCHELASTIC_RUN_ID=none\n[ \"$1 $2\" = '--no-python --nproc-per-node=4' ] && shift 2 && launch 4 RANK \"$@\"";
        site.script("bin/torchrun", &format!("{LAUNCH}\n{torchrun}"));
        symlink(env!("SECOND_PLUGIN_V4"), site.path("nccl/libnccl-profiler-inspector.so")).unwrap();
        Self { site }
    }

    /// Runs commands, as somebody types them into a job script; gives what they say where they fail.
    pub(crate) fn run(&self, commands: &str) -> Result<(), String> {
        let tool = self.site.tool();
        let mut shell = Command::new("/bin/bash");
        shell.env_clear().envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // a command that starts no `scorep-nccl run` is one of a job script that has this line
        let prepared = if commands.contains("scorep-nccl") { "" } else { "eval \"$(scorep-nccl env)\"\n" };
        shell.args(["--noprofile", "--norc", "-euo", "pipefail", "-c", &format!("{prepared}{commands}")]);
        shell.env("SHELL", "/bin/bash").env("SECOND_PLUGIN_REPORT", self.site.path("work/inspector.heard"));
        shell.current_dir(self.site.path("work"));
        let output = shell.output().unwrap();
        let (printed, said) = texts(&output);
        if output.status.success() { Ok(()) } else { Err(format!("{}\n{printed}{said}", output.status)) }
    }

    /// Whether there is something of that name; `*` in its last part stands for anything.
    pub(crate) fn has(&self, pattern: &str) -> bool {
        let path = self.site.path("work").join(pattern);
        let Some((begin, end)) = pattern.rsplit('/').next().and_then(|name| name.split_once('*')) else {
            return path.exists();
        };
        let matches = |path: &Path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(begin) && name.ends_with(end)
        };
        path.parent().unwrap().read_dir().is_ok_and(|mut entries| entries.any(|entry| matches(&entry.unwrap().path())))
    }
}
