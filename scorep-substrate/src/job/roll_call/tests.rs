//! All processes of a run come to the same verdict, whoever is missing, late or left over from an earlier run.

use super::*;

/// Returns the outcome in each of the run's processes that have loaded the plugin.
fn run(directory: &Path, ranks: &[usize], size: usize, patience: Duration) -> Vec<bool> {
    std::thread::scope(|scope| {
        let processes: Vec<_> = ranks
            .iter()
            .map(|&rank| {
                scope.spawn(move || RollCall::new(directory, rank, size, true).all_take_part(patience).unwrap_or(false))
            })
            .collect();
        processes.into_iter().map(|process| process.join().unwrap()).collect()
    })
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn all_find_that_all_are_here() {
    let directory = directory();
    for size in [2, 17, 5] {
        let ranks: Vec<usize> = (0..size).collect();
        assert_eq!(run(directory.path(), &ranks, size, LONG), vec![true; size], "an earlier run has left its files");
    }
    RollCall::clear(directory.path());
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn all_find_that_one_is_missing() {
    let directory = directory();
    assert_eq!(run(directory.path(), &[0, 1, 3], 4, SHORT), [false; 3]);
    assert_eq!(run(directory.path(), &[1, 2, 3], 4, SHORT), [false; 3], "the first one");
    assert_eq!(run(&directory.path().join("new"), &[1, 2], 3, SHORT), [false; 2], "the first one, and no directory");
}

#[test]
fn a_roll_that_is_none_is_neither_waited_for_nor_followed() {
    let directory = directory();
    let roll = directory.path().join(ROLL);
    let other = directory.path().join("other");
    std::fs::write(&other, [0; 3 * WIDTH]).unwrap();
    let name = std::ffi::CString::new(roll.to_str().unwrap()).unwrap();
    for is_link in [false, true] {
        if is_link {
            symlink(&other, &roll).unwrap();
        } else {
            // SAFETY: the name is a string that outlives the call.
            assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        }
        let answer = RollCall::new(directory.path(), 1, 2, true);
        assert!(answer.all_take_part(LONG).is_err(), "as whoever waits for the first process finds it");
        assert_eq!(run(directory.path(), &[0], 2, SHORT), [false], "the first process");
        assert!(roll.symlink_metadata().unwrap().is_file());
        RollCall::clear(directory.path());
    }
    assert_eq!(std::fs::read(&other).unwrap(), [0; 3 * WIDTH]);
}

#[test]
fn what_a_killed_run_has_left_convinces_nobody() {
    let directory = directory();
    assert_eq!(run(directory.path(), &[0, 1, 2], 3, LONG), [true; 3]);
    // in the next run, the first process does not start
    assert_eq!(run(directory.path(), &[1, 2], 3, SHORT), [false; 2]);
}

#[test]
fn a_verdict_holds_whoever_made_it() {
    let directory = directory();
    let path = directory.path();
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| RollCall::new(path, 0, 2, true).all_take_part(LONG).unwrap());
        // this process has lost its patience and decides before it enters
        let late = RollCall::new(path, 1, 2, true);
        let run = loop {
            if let Ok(roll) = late.read() {
                break roll[..WIDTH].to_vec();
            }
        };
        assert!(!late.decide(&run, SOME));
        late.enter().unwrap();
        assert!(!caller.join().unwrap());
    });
}

#[test]
fn whoever_takes_no_part_says_so_at_once() {
    for declining in [0, 2] {
        let directory = directory();
        let path = directory.path();
        let all = std::thread::scope(|scope| {
            let one = |rank| {
                scope.spawn(move || RollCall::new(path, rank, 3, rank != declining).all_take_part(LONG).unwrap())
            };
            [0, 1, 2].map(one).map(|process| process.join().unwrap())
        });
        assert_eq!(all, [false; 3]);
    }
}

/// Giving up would break the other processes' reliance on the entered number.
#[test]
fn whoever_has_entered_looks_again_whatever_goes_wrong() {
    let directory = directory();
    let path = directory.path();
    let roll = path.join(ROLL);
    std::thread::scope(|scope| {
        let process = scope.spawn(|| RollCall::new(path, 1, 2, true).all_take_part(LONG).unwrap());
        let entered = |roll: &[u8]| number(&roll[2 * WIDTH..]) != 0;
        let mut text = [7_u64, 1, 0].map(u64::to_le_bytes).concat();
        std::fs::write(&roll, &text).unwrap();
        while !entered(&text) {
            text = std::fs::read(&roll).unwrap();
        }
        // the file cannot be opened for a while
        std::fs::remove_file(&roll).unwrap();
        std::fs::create_dir(&roll).unwrap();
        std::thread::sleep(3 * LONGEST_LOOK);
        std::fs::remove_dir(&roll).unwrap();
        std::fs::write(&roll, &text).unwrap();
        symlink(everybody(&text), path.join(format!("verdict-{:016x}", 7))).unwrap();
        assert!(process.join().unwrap());
    });
}
