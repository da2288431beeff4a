//! Two users of one machine, one of whom means ill, in a directory where both may write.

use crate::support::two_users::{OF_THE_JOB, OTHER, Place};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How long the other one is at work, milliseconds.
const LONG: &str = "60000";

/// A regular file of the job's user, with a whole summary.
fn is_own_summary(path: &Path) -> bool {
    let found = path.symlink_metadata().unwrap();
    found.is_file()
        && found.uid() == OF_THE_JOB
        && serde_json::from_slice::<serde_json::Value>(&fs::read(path).unwrap()).is_ok()
}

/// What the other one has put there before: a link to a private file, or a FIFO, a file, a directory or a socket of his
/// own.
#[test]
fn what_another_user_has_put_there_is_replaced_or_left_alone() {
    let socket = "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un(\"summary.json\")) or die'";
    for put in [
        "ln -s ../home/private summary.json",
        "mkfifo -m 666 summary.json",
        "echo his >summary.json",
        "mkdir summary.json",
        socket,
    ] {
        for mode in [0o1777, 0o777] {
            let Some(place) = Place::new(mode) else { return };
            place.other_does(put);
            let said = place.play();
            place.check_private();
            let summary = place.path("shared/summary.json");
            // with the sticky bit nobody but its owner may take it away; and nobody removes a directory
            if mode == 0o777 && put != "mkdir summary.json" {
                assert!(said.is_empty() && is_own_summary(&summary), "{put} in {mode:o}: {said}");
            } else {
                assert_eq!(summary.symlink_metadata().unwrap().uid(), OTHER, "{put} in {mode:o}");
                let own =
                    said.split_once("the summary of this process is in ").and_then(|(_, name)| name.split_once(": "));
                let own = own.map(|(name, _)| place.path("shared").join(name));
                assert!(
                    said.lines().count() == 1 && own.is_some_and(|own| is_own_summary(&own)),
                    "{put} in {mode:o}: {said}"
                );
            }
        }
    }
}

/// And what he puts there meanwhile, as fast as he can.
#[test]
fn another_user_at_work_meanwhile_gets_at_nothing() {
    for mode in [0o1777, 0o777] {
        let Some(place) = Place::new(mode) else { return };
        let mut attack = place.host(OTHER, &["attack", LONG, ".", "../home/private"]);
        let mut attack = attack.spawn().unwrap();
        for _ in 0..10 {
            let said = place.play();
            place.check_private();
            assert!(
                said.lines().all(|line| line.starts_with("scorep-nccl: warning: ")) && said.lines().count() <= 3,
                "{said}"
            );
        }
        // it was at work to the end
        assert!(attack.try_wait().unwrap().is_none());
        attack.kill().unwrap();
        attack.wait().unwrap();
    }
}

/// A directory's name that is the other one's link leads nowhere; one of the job's own user, and of root, does.
#[test]
fn directories_behind_links_of_another_user_get_no_file() {
    for setting in ["NCCL_SCOREP_RECORD", "NCCL_SCOREP_STATUS", "NCCL_SCOREP_SUMMARY"] {
        let Some(place) = Place::new(0o1777) else { return };
        fs::create_dir(place.path("home/results")).unwrap();
        std::os::unix::fs::chown(place.path("home/results"), Some(OF_THE_JOB), None).unwrap();
        place.other_does("ln -s ../home/results link");
        let value = if setting.ends_with("SUMMARY") { "link/summary.json" } else { "link" };
        let said = place.play_with(&[(setting, value)]);
        assert_eq!(fs::read_dir(place.path("home/results")).unwrap().count(), 0, "{setting}");
        assert!(said.lines().count() == 1 && said.contains("a link of another user"), "{setting}: {said}");

        std::os::unix::fs::lchown(place.path("shared/link"), Some(OF_THE_JOB), None).unwrap();
        let said = place.play_with(&[(setting, value)]);
        assert_eq!(fs::read_dir(place.path("home/results")).unwrap().count(), 1, "{setting}: {said}");
        assert_eq!(said, "", "{setting}");
    }
}
