//! Status files (`NCCL_SCOREP_STATUS`) in places that fail: none of them changes the job or its figures, none leaves a
//! part of a file behind, and each costs one line at most.

use crate::harm::job::{Job, may_mount};
use crate::harm::threads::busy;

/// Forks amid recording for as long as a status takes to be written some times.
fn job() -> Job {
    busy("forked_amid_recording", 0)
}

/// A script that prints a line that no test knows unless `test` is so.
fn unless(test: &str) -> String {
    format!("{test} || echo 'wrong: {}'", test.replace('\'', ""))
}

#[test]
fn a_directory_that_cannot_be_made_costs_one_line() {
    for place in ["/proc/nowhere/status", "said/status"] {
        let found = job().set("NCCL_SCOREP_STATUS", place).check();
        found.figures();
        let of_status = found.said.iter().filter(|line| line.contains("NCCL_SCOREP_STATUS")).count();
        assert_eq!(of_status, 1, "{place}: {:?}", found.said);
    }
}

/// Children of which somebody hears, and of which nobody hears: none writes a file, and the job's own is whole.
#[test]
fn forked_children_write_no_status() {
    for scenario in ["forked_amid_recording", "forked_in_a_handler", "forked_in_silence"] {
        let is_own = unless(r#"test "$(ls -A status | wc -l)" = 1"#);
        let is_over = unless(r#"grep -q '"over":[0-9]' status/*.status.json"#);
        let script = format!(r#""$@"; status=$?; {is_own}; {is_over}; rm -r status; exit $status"#);
        let found = busy(scenario, 0).before(&script).set("NCCL_SCOREP_STATUS", "status").check();
        assert!(
            found.figures().summaries.len() == 1 && found.besides_drops().is_empty(),
            "{scenario}: {:?}",
            found.said
        );
    }
}

/// Somebody removes the directory time and again: it is made again.
#[test]
fn a_directory_that_is_removed_while_the_job_runs_harms_nothing() {
    let removes = "(while :; do rm -rf status; sleep 0.01; done) 2>/dev/null & remover=$!";
    let script =
        format!(r#"{removes}; "$@"; status=$?; kill $remover; wait $remover 2>/dev/null; rm -rf status; exit $status"#);
    let found = job().before(&script).set("NCCL_SCOREP_STATUS", "status").check();
    found.figures();
    let said = found.besides_drops();
    assert!(said.len() <= 1 && said.iter().all(|line| line.contains("NCCL_SCOREP_STATUS")), "{:?}", found.said);
}

/// With no room at all, and with room for a small state alone.
#[test]
fn a_full_disk_has_no_part_of_a_status() {
    if !may_mount() {
        return;
    }
    for room in [0, 4] {
        let mounts = "mkdir disk; mount -t tmpfs -o size=8k none disk; mkdir disk/status";
        let fills = format!("head -c $((8192 - {room} * 1024)) /dev/zero > disk/full");
        // a file that is there is whole
        let has_no_part = unless("! ls -A disk/status | grep -q part");
        let is_empty = if room == 0 { unless(r#"test -z "$(ls -A disk/status)""#) } else { ":".into() };
        let script = format!(
            r#"{mounts}; {fills}; "$@"; status=$?; {has_no_part}; {is_empty}; umount disk; rmdir disk; exit $status"#
        );
        let found = job().mounting(&script).set("NCCL_SCOREP_STATUS", "disk/status").check();
        found.figures();
        let said = found.besides_drops();
        assert!(said.iter().all(|line| line.contains("No space left on device")), "{room}: {:?}", found.said);
        assert!(said.len() == 1 || room > 0 && said.is_empty(), "{room}: {:?}", found.said);
    }
}
