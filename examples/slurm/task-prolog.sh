#!/bin/sh
# For administrators: the plugin for the jobs that ask for it, without a change of their scripts. In slurm.conf, on every node:
#
#   TaskProlog=/etc/slurm/task-prolog.sh
#
# A job asks with NCCL_SCOREP_PRESET in its environment: NCCL_SCOREP_PRESET=network sbatch job.sh
# (A job's comment is not in a task's environment, and asking the controller for it, once a task, is too much for it.)
#
# SLURM runs this as the user, before the batch script and before each task, and reads what it prints: `export NAME=value` sets a variable,
# the value taken as it stands, quotes included; `print TEXT` writes to the task's output. A TaskProlog that fails fails the task, so
# this one ends well whatever happens.
tool=/opt/scorep-nccl/bin/scorep-nccl

# Nobody asks, or it is done: by the job's script, or by this script before the task's.
[ -n "${NCCL_SCOREP_PRESET:-}" ] && [ "${NCCL_PROFILER_PLUGIN:-}" != libnccl-profiler-scorep.so ] || exit 0

# A file system that hangs costs ten seconds, no more. SLURM drops what this script writes to standard error.
if said=$(timeout 10 "$tool" env --shell bash --preset "$NCCL_SCOREP_PRESET" 2>&1); then
  settings=$(printf '%s\n' "$said" | grep '^export ')
  # In a shell of its own, which alone ends should this be no shell's language.
  (
    eval "$settings"
    for name in $(printf '%s\n' "$settings" | sed -n 's/^export \([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p'); do
      eval "printf 'export %s=%s\n' $name \"\$$name\""
    done
  )
else
  printf '%s\n' "print no NCCL plugin: ${said:-$tool gave no answer}" | head -n 1
fi
exit 0
