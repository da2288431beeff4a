#!/usr/bin/env bash
# Does NCCL choose the same with and without the library as its tuner, also where settings restrict it, and beside a tuner
# of the user's? And are its predictions those of the ways that it runs? Does the report name the settings that force
# NCCL into bad ways?
#
#   tests/gpu/tuner.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release). These may be set: RANKS (2), NCCL_LIBRARY, the
# file of another NCCL than PyTorch's, and KEEP, a directory for what the runs write. Runs each set of operations twice,
# and compares algorithm, protocol and channels of each operation in the recordings. Prints one line a comparison, tables
# of predictions, and a total; exit status 1 when one of them is wrong.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
ranks=${RANKS:-2}
if [ "$gpus" -lt "$ranks" ]; then
  echo "skipped: $ranks GPUs are needed, there are $gpus"
  exit 0
fi
wrong=0
ours=libnccl-profiler-scorep.so
# broadcasts are operations in NCCL 2.29 to 2.32, too; the connections are made at the start
export NCCL_ALLGATHERV_ENABLE=0 NCCL_RUNTIME_CONNECT=0
unset NCCL_TUNER_PLUGIN NCCL_SCOREP_TUNER

compiler=${CC:-$(command -v cc || command -v gcc)}
user="$scratch/libuser-tuner.so"
"$compiler" -std=gnu11 -O2 -shared -fPIC -DVERSION=4 "$here/../c/programs/user_tuner.c" -o "$user" || exit 1

# Runs the operations into the directory `out`, with settings.
operations() {
  mkdir -p "$out"
  env "${nccl[@]}" "$@" timeout --kill-after=10 200 "$python" "$here/tuner.py" run "$ranks" "$out" >"$out/log" 2>&1
}

# name, verb and arguments of tuner.py
check() {
  local name=$1 result status
  shift
  result=$("$python" "$here/tuner.py" "$@" 2>&1)
  status=$?
  say $status "$name: $result"
}

# name, settings
compare() {
  local name=$1 plain status
  shift
  out="$scratch/tuner.${name// /_}.plain"
  plain=$out
  operations "$@"
  status=$?
  [ $status = 0 ] || say $status "$name, without the tuner: exit $status"
  out="$scratch/tuner.${name// /_}.ours"
  operations "$@" NCCL_TUNER_PLUGIN=$ours
  status=$?
  [ $status = 0 ] || say $status "$name, with the tuner: exit $status"
  check "$name" same "$plain" "$out"
  check "$name, predictions" predicted "$out"
}

compare "own choice"
compare "two nodes" NODES=2 NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo
compare "trees" NCCL_ALGO=allreduce:tree
compare "protocol LL" NCCL_PROTO=LL
compare "one channel" NCCL_MAX_NCHANNELS=1 NCCL_MIN_NCHANNELS=1

out="$scratch/tuner.user.plain"
operations NCCL_TUNER_PLUGIN="$user" || say 1 "a user's tuner, without the library: exit $?"
out="$scratch/tuner.user.ours"
operations NCCL_TUNER_PLUGIN=$ours NCCL_SCOREP_TUNER="$user" || say 1 "a user's tuner, passed on: exit $?"
check "a user's tuner" same "$scratch/tuner.user.plain" "$out"
check "a user's tuner, its changes" changed "$out"

# Does the report name the rows that settings force into ways which NCCL would not take, and no row of an ordinary run?
# Sockets alone are none: a process over sockets knows no adapters.
report() {
  out="$scratch/tuner.$1"
  "$TOOL" report "$out"/recording.* --json "$out/report.json" >"$out/report.log" 2>&1 || say 1 "$1: no report"
}
plain="$scratch/tuner.own_choice.ours"
for of in own_choice.plain own_choice.ours two_nodes.ours; do
  report $of
  check "$of, rows" ordinary "$out"
done
for of in trees.ours protocol_LL.ours one_channel.ours; do
  report $of
  check "$of, rows" forced "$out" "$plain"
done
kept() {
  local name=$1
  shift
  out="$scratch/tuner.$name"
  operations "$@" NCCL_TUNER_PLUGIN=$ours || say 1 "$name: exit $?"
  report "$name"
  check "$name, rows" kept "$out"
}
kept no_p2p NCCL_P2P_DISABLE=1
kept sockets NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo

echo "$wrong wrong"
[ "$wrong" = 0 ]
