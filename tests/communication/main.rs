//! Records of communication in OTF2 archives: those of a replay, and those that `scorep-nccl trace` adds to an experiment.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../support/reference/mod.rs"]
mod reference;
#[path = "../support/tool/mod.rs"]
mod tool;

use reference::json::read;
use reference::operations::{Operation, each};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program that writes experiments, where OTF2 is installed.
const HOST: Option<&str> = option_env!("HOST_OTF2_EXPERIMENT");

/// Ranks, and bytes of the first round, in experiments of tests/c/programs/otf2_experiment.c.
const RANKS: i64 = 4;
const BYTES: i64 = 1000;

/// Records, as texts, with how often they are there.
type Records = BTreeMap<String, usize>;

fn skipped() -> bool {
    let is_missing = Command::new("otf2-print").arg("--version").output().is_err();
    if is_missing || HOST.is_none() {
        tool::skip("OTF2 or otf2-print is not installed (Debian: libotf2-trace-dev, otf2-tools)");
        return true;
    }
    false
}

/// What otf2-print shows of an archive: definitions (`-G`), the anchor file (`-A`) or events.
fn printed(directory: &Path, flags: &[&str]) -> String {
    tool::succeed(Command::new("otf2-print").args(flags).arg(directory.join("traces.otf2")))
}

/// The quoted name behind a label.
fn name<'a>(line: &'a str, label: &str) -> &'a str {
    line.split_once(label).unwrap().1.split('"').nth(1).unwrap()
}

/// The word behind a label.
fn word<'a>(line: &'a str, label: &str) -> &'a str {
    line.split_once(label).unwrap().1.split([',', ' ']).next().unwrap()
}

/// Names of the locations, by number.
fn locations(definitions: &str) -> BTreeMap<String, String> {
    let lines = definitions.lines().filter(|line| line.starts_with("LOCATION "));
    lines.map(|line| (line.split_whitespace().nth(1).unwrap().to_owned(), name(line, "Name: ").to_owned())).collect()
}

/// The lanes that say whose they are: the first ones of ranks, and all where no other rank of their communicator is in
/// the same process. A reader knows the rank of a record by the member, or by the process.
fn attributable(definitions: &str) -> BTreeSet<String> {
    let lines = definitions
        .lines()
        .filter(|line| line.starts_with("LOCATION ") && line.contains("\"NCCL ") && line.contains(" rank "));
    let lanes: Vec<_> = lines
        .map(|line| {
            let (name, process) = (name(line, "Name: "), name(line, "Group: "));
            (line.split_whitespace().nth(1).unwrap(), rank(name), name.ends_with(')'), process)
        })
        .collect();
    let is_alone = |(comm, own): (&str, &str), process: &str| {
        lanes.iter().all(|&(_, (of, other), _, place)| of != comm || place != process || other == own)
    };
    let known = lanes.iter().filter(|(_, own, is_further, process)| !is_further || is_alone(*own, process));
    known.map(|(location, ..)| (*location).to_owned()).collect()
}

/// The communicator and the rank of a lane of this name, also of a further one.
fn rank(lane: &str) -> (&str, &str) {
    let mut words = lane.split(' ');
    (words.nth(1).unwrap(), words.nth(1).unwrap())
}

/// The number of collectives that a replay says to have left out.
fn overlapping(said: &str) -> usize {
    let line = said.lines().find(|line| line.contains("collectives have no record: a process has several ranks"));
    line.map_or(0, |line| line.split(' ').nth(1).unwrap().parse().unwrap())
}

fn count(records: impl Iterator<Item = String>) -> Records {
    let mut counted = Records::new();
    records.for_each(|record| *counted.entry(record).or_default() += 1);
    counted
}

/// The records of communication on lanes.
fn found(directory: &Path) -> Records {
    let definitions = printed(directory, &["-G"]);
    let (names, attributable) = (locations(&definitions), attributable(&definitions));
    let of_lane = |line: &str| {
        let mut words = line.split_whitespace();
        let (kind, location) = (words.next()?, words.next()?);
        let lane = names.get(location).filter(|name| name.starts_with("NCCL "))?;
        let (comm, own) = rank(lane);
        assert!(!kind.starts_with("MPI_") || attributable.contains(location), "whose is it? {line}");
        let other = |label| {
            let (of, other) = rank(name(line, label));
            assert_eq!(of, comm, "{line}");
            other.to_owned()
        };
        let is_own = || assert!(name(line, "Communicator: ").contains(comm), "{lane}: {line}");
        match kind {
            "MPI_SEND" => {
                is_own();
                Some(format!("{comm} {own} sends {} to {}", word(line, "Length: "), other("Receiver: ")))
            }
            "MPI_RECV" => {
                is_own();
                Some(format!("{comm} {own} receives {} of {}", word(line, "Length: "), other("Sender: ")))
            }
            "MPI_COLLECTIVE_BEGIN" => Some(format!("{comm} {own} begins")),
            "MPI_COLLECTIVE_END" => {
                is_own();
                let root = if line.contains("Root: NONE") { "none".to_owned() } else { other("Root: ") };
                let [operation, sent, received] =
                    ["Operation: ", "Sent: ", "Received: "].map(|label| word(line, label));
                Some(format!("{comm} {own} {operation} root {root} sent {sent} received {received}"))
            }
            _ => None,
        }
    };
    count(printed(directory, &[]).lines().filter_map(of_lane))
}

/// The records that an operation must have, by the semantics of NCCL's function and the way MPI's adapter counts.
fn expected(operation: &Operation, ranks: i64) -> Vec<String> {
    let Operation { comm, rank, func, peer, root, bytes, .. } = operation;
    let prefix = format!("{comm} {rank}");
    if let Some(peer) = peer {
        return vec![match func.as_str() {
            "Send" => format!("{prefix} sends {bytes} to {peer}"),
            _ => format!("{prefix} receives {bytes} of {peer}"),
        }];
    }
    let is_root = *root == Some(*rank);
    let if_root = |bytes: i64| if is_root { bytes } else { 0 };
    let all = bytes * ranks;
    let (operation, has_root, sent, received) = match func.as_str() {
        "AllReduce" => ("ALLREDUCE", false, all, all),
        "AllGather" => ("ALLGATHER", false, all, all),
        "ReduceScatter" => ("REDUCE_SCATTER_BLOCK", false, all, all),
        "AlltoAll" => ("ALLTOALL", false, all, all),
        "Broadcast" => ("BCAST", true, if_root(all), *bytes),
        "Scatter" => ("SCATTER", true, if_root(all), *bytes),
        "Reduce" => ("REDUCE", true, *bytes, if_root(all)),
        "Gather" => ("GATHER", true, *bytes, if_root(all)),
        _ => return vec![],
    };
    let root = if has_root { root.unwrap().to_string() } else { "none".to_owned() };
    vec![format!("{prefix} begins"), format!("{prefix} {operation} root {root} sent {sent} received {received}")]
}

#[test]
fn the_archive_of_a_replay_has_the_messages_and_collectives_of_the_recordings() {
    if skipped() {
        return;
    }
    for (name, run) in tool::runs() {
        let captures = tool::captures(&run);
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("archive");
        let said = tool::succeed(tool::tool().arg("replay").args(&captures).arg("--otf2").arg(&archive));
        let mut all = Vec::new();
        let mut shared = BTreeSet::new();
        for recording in captures.iter().map(|path| read(path).unwrap()) {
            let sizes: BTreeMap<_, _> = recording.contexts.values().map(|it| (it.comm.clone(), it.nranks)).collect();
            let operations = each(&recording).unwrap();
            all.extend(operations.iter().flat_map(|operation| expected(operation, sizes[&operation.comm])));
            let mut ranks: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
            for operation in &operations {
                ranks.entry(&operation.comm).or_default().insert(operation.rank);
            }
            shared.extend(ranks.into_iter().filter(|(_, ranks)| ranks.len() > 1).map(|(comm, _)| comm.to_owned()));
        }
        let (found, expected) = (found(&archive), count(all.into_iter()));
        // of a communicator of which a process has several ranks, collectives may be left out, all of them
        let left_out = overlapping(&said);
        let is_shared = |record: &str| shared.iter().any(|comm| record.starts_with(comm));
        let may_lack =
            |record: &str| left_out > 0 && is_shared(record) && !record.contains(" of ") && !record.contains(" to ");
        let differences: Vec<_> = found.iter().filter(|it| expected.get(it.0) != Some(it.1)).collect();
        let missing: Vec<_> = expected.iter().filter(|it| found.get(it.0) != Some(it.1)).collect();
        let (lacking, missing): (Vec<_>, Vec<_>) = missing.into_iter().partition(|(record, _)| may_lack(record));
        let ends =
            lacking.iter().filter(|(record, _)| record.contains(" root ")).map(|(_, count)| **count).sum::<usize>();
        assert!(
            !expected.is_empty() && differences.is_empty() && missing.is_empty() && ends == left_out,
            "{name}: {differences:#?} {missing:#?} {ends} {left_out}"
        );
        assert_eq!(left_out > 0, ["net2_single", "nvlink4_single"].contains(&&*name), "{name}");
        assert!(!fs::read_dir(&archive).unwrap().any(|entry| entry.unwrap().file_name() == "plain"));
    }
}

/// Another release of OTF2's library, and another reader.
#[test]
fn pypis_otf2_reads_the_same_records() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let python = target.join("tables/bin/python");
    if skipped() {
        return;
    }
    if !Command::new(&python).args(["-c", "import otf2"]).output().is_ok_and(|output| output.status.success()) {
        return tool::skip("PyPI's otf2 is not installed (scripts/test-tables)");
    }
    for run in ["nodes2x2_collectives", "nodes4x1_pipeline"] {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("archive");
        tool::succeed(tool::tool().arg("replay").arg(tool::run(run)).arg("--otf2").arg(&place));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/communication/messages.py");
        let mut read = Command::new(&python);
        read.env("PYTHONDONTWRITEBYTECODE", "1").arg(script).arg(place.join("traces.otf2"));
        let read = count(tool::succeed(&mut read).lines().map(str::to_owned));
        let found = found(&place);
        assert!(!found.is_empty() && read == found, "{run}: {} records, not {}", read.len(), found.len());
    }
}

/// Writes an experiment: rounds on four lanes, events on two threads.
fn experiment(directory: &Path, rounds: u64, events: u64, wrong: &str) -> PathBuf {
    let experiment = directory.join("experiment");
    fs::create_dir(&experiment).unwrap();
    let numbers = [rounds, events].map(|number| number.to_string());
    let mut host = Command::new(HOST.unwrap());
    tool::succeed(host.arg(&experiment).args(numbers).arg(wrong));
    fs::write(experiment.join("profile.cubex"), "a profile").unwrap();
    fs::create_dir(experiment.join("nccl")).unwrap();
    fs::write(experiment.join("nccl/summary.txt"), "a summary").unwrap();
    experiment
}

fn trace(experiment: &Path, to: &Path) -> Command {
    let mut command = tool::tool();
    command.arg("trace").arg(experiment).arg("--to").arg(to);
    command
}

/// All files with their contents.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files.extend(contents(&entry));
        } else {
            files.insert(entry.clone(), fs::read(&entry).unwrap());
        }
    }
    files
}

/// The records of the program's rounds. In one of them a rank may lack its send, so that a pair has no records.
fn rounds(rounds: i64, lacks: Option<i64>) -> Records {
    let comm = "0000000000001a2b";
    let operation = |rank, func: &str, peer, root, bytes| Operation {
        comm: comm.into(),
        rank,
        kind: String::new(),
        func: func.into(),
        peer,
        root,
        sequence: None,
        bytes,
        algorithm: None,
        protocol: None,
        gpu_us: None,
        by_events: false,
        is_first: true,
        is_first_of_function: true,
    };
    let mut all = Vec::new();
    for (round, rank) in (0..rounds).flat_map(|round| (0..RANKS).map(move |rank| (round, rank))) {
        let (next, before, bytes) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS, BYTES + round);
        all.push(operation(rank, "Broadcast", None, Some(2), bytes));
        all.push(operation(rank, "AllReduce", None, None, bytes));
        if lacks != Some(rank) {
            all.push(operation(rank, "Send", Some(next), None, bytes));
        }
        if lacks != Some(before) {
            all.push(operation(rank, "Recv", Some(before), None, bytes));
        }
    }
    count(all.iter().flat_map(|operation| expected(operation, RANKS)))
}

/// The lines of otf2-print without what a copy may have of its own.
fn without_added(text: &str, names: &BTreeMap<String, String>) -> Vec<String> {
    let is_added = |line: &str| {
        let mut words = line.split_whitespace();
        let (kind, location) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_lane = names.get(location).is_some_and(|name| name.starts_with("NCCL "));
        kind.starts_with("MPI_") && is_lane
    };
    text.lines().filter(|line| !is_added(line)).map(str::to_owned).collect()
}

/// Definitions of every kind, events of many kinds, local numbers and clocks: a copy has them all, and what is added.
#[test]
fn a_copy_differs_in_the_added_records_alone() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 20, 500, "");
    let before = contents(&experiment);
    let copy = directory.path().join("copy");
    let output = trace(&experiment, &copy).output().unwrap();
    let [answer, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(answer.contains("1 communicator, 80 messages and 160 ends of collectives added"), "{answer}{said}");
    assert!(said.lines().count() == 1 && said.contains("no nccl/summary.json"), "{said}");
    assert_eq!(contents(&experiment), before);
    assert_eq!(found(&copy), rounds(20, None));

    let names = locations(&printed(&experiment, &["-G"]));
    let [original, copied] = [&experiment, &copy].map(|of| without_added(&printed(of, &[]), &names));
    assert!(original.len() > 1000 && original == copied);
    let anchors = [&experiment, &copy].map(|of| printed(of, &["-A"]));
    for label in
        ["Machine name", "Creator", "Description", "Property name", "Property value", "Chunk size", "Number of loc"]
    {
        let of =
            |text: &str| text.lines().filter(|line| line.starts_with(label)).map(str::to_owned).collect::<Vec<_>>();
        assert!(!of(&anchors[0]).is_empty() && of(&anchors[0]) == of(&anchors[1]), "{label}");
    }
    let definitions = [&experiment, &copy].map(|of| {
        let of_lanes = |line: &&str| !(line.starts_with("LOCATION ") && line.contains("ACCELERATOR_STREAM"));
        printed(of, &["-G"]).lines().filter(of_lanes).map(str::to_owned).collect::<BTreeSet<_>>()
    });
    assert!(definitions[0].len() > 60 && definitions[0].is_subset(&definitions[1]));
    let added: Vec<_> = definitions[1].difference(&definitions[0]).collect();
    // two names, the group of all lanes, the communicator's and the communicator
    assert_eq!(added.len(), 5, "{added:#?}");
    // the paradigm of CUDA has its group of locations already
    assert!(added.iter().any(|line| line.contains("Type: COMM_LOCATIONS, Paradigm: USER")), "{added:#?}");
    for file in ["profile.cubex", "nccl/summary.txt", "traces/0.evt", "traces/0.def"] {
        assert_eq!(fs::read(copy.join(file)).unwrap(), fs::read(experiment.join(file)).unwrap(), "{file}");
    }
}

/// A reader takes the k-th send for the k-th receive: with one missing, it would draw wrong lines.
#[test]
fn where_a_message_has_one_side_its_pair_has_no_records() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let output = trace(&experiment(directory.path(), 3, 10, "unmatched"), &copy).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("5 sends and receives have no record"), "{said}");
    assert_eq!(found(&copy), rounds(3, Some(1)));
}

#[test]
fn messages_that_end_before_they_begin_are_said() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let output = trace(&experiment(directory.path(), 3, 10, "reversed"), &copy).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // rank 3 receives 300 us early what is sent at 3 x 100 us + 2, and received at 4 x 100 us + 3 + 50
    assert!(said.contains("3 messages end before they begin, by 149.0 us at most"), "{said}");
    assert_eq!(found(&copy), rounds(3, None));
}

/// A root that nobody knows would make the bytes wrong.
#[test]
fn collectives_without_a_known_root_have_no_record() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let output = trace(&experiment(directory.path(), 3, 10, "rootless"), &copy).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("12 collectives have no record"), "{said}");
    let mut expected = rounds(3, None);
    expected.retain(|record, _| !record.contains("BCAST"));
    for (_, times) in expected.iter_mut().filter(|(record, _)| record.ends_with("begins")) {
        *times /= 2;
    }
    assert_eq!(found(&copy), expected);
}

/// Sites keep large files elsewhere, and link to them. The anchor may be named without a directory.
#[test]
fn links_are_followed_to_files_and_to_the_locations() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 3, 10, "");
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(experiment.join("traces"), &elsewhere).unwrap();
    symlink(&elsewhere, experiment.join("traces")).unwrap();
    fs::rename(elsewhere.join("0.evt"), directory.path().join("0.evt")).unwrap();
    symlink(directory.path().join("0.evt"), elsewhere.join("0.evt")).unwrap();
    let copy = directory.path().join("copy");
    let mut command = trace(Path::new("traces.otf2"), &copy);
    assert!(command.current_dir(&experiment).output().unwrap().status.success());
    assert_eq!(found(&copy), rounds(3, None));
    assert_eq!(fs::read(copy.join("traces/0.evt")).unwrap(), fs::read(elsewhere.join("0.evt")).unwrap());
    assert!(!copy.join("traces").is_symlink() && !copy.join("traces/0.evt").is_symlink());
}

/// Whatever is refused leaves nothing behind, and the experiment as it was.
#[test]
fn what_cannot_be_copied_is_refused_with_the_reason() {
    if skipped() {
        return;
    }
    for (wrong, reason) in
        [("strange", "event on a lane"), ("none", "no lanes"), ("again", "already"), ("full", "not empty")]
    {
        let directory = tempfile::tempdir().unwrap();
        let mut original = experiment(directory.path(), 2, 10, wrong);
        if wrong == "again" {
            let first = directory.path().join("first");
            assert!(trace(&original, &first).output().unwrap().status.success());
            original = first;
        }
        let copy = directory.path().join(if wrong == "inside" { "experiment/copy" } else { "copy" });
        match wrong {
            "named" => original = original.join("profile.cubex"),
            "missing" => original = original.join("nothing"),
            _ => {}
        }
        if wrong == "full" {
            fs::create_dir(&copy).unwrap();
            fs::write(copy.join("mine"), "").unwrap();
        }
        let before = contents(directory.path());
        let output = trace(&original, &copy).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason), "{wrong}: {said}");
        assert_eq!(contents(directory.path()), before, "{wrong}");
    }
    let directory = tempfile::tempdir().unwrap();
    let output = trace(directory.path(), &directory.path().join("copy")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("SCOREP_ENABLE_TRACING=true"), "{said}");
}

/// An anchor file that says it has 2^31 properties: OTF2 3.0.2 allocates nothing for them, and writes behind it.
fn anchor_of_many() -> Vec<u8> {
    let head = [&b"\x03BOTF2\0\x03"[..], &[3, 3, 0, 2], &(1_u64 << 20).to_le_bytes(), &(1_u64 << 22).to_le_bytes()];
    let numbers = [&[1, 1][..], &1_u64.to_le_bytes(), &1_u64.to_le_bytes(), b"m\0c\0d\0", &(1_u32 << 31).to_le_bytes()];
    [head.concat(), numbers.concat(), b"name\0value\0name\0value\0".to_vec()].concat()
}

/// Runs commands that read an archive. They fail by themselves, whatever OTF2 makes of it, name it, and leave nothing.
fn refuses(archive: &Path, what: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let mut report = tool::tool();
    report.arg("report").arg(archive);
    let mut words = String::new();
    for (name, mut command) in [("trace", trace(archive, &copy)), ("report", report)] {
        let output = command.env("TMPDIR", directory.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}, {what}: {} {said}", output.status);
        let last = said.lines().rfind(|line| line.starts_with("scorep-nccl: ")).unwrap();
        words += last;
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{name}, {what}");
        if name == "report" {
            assert!(last.contains(&archive.join("traces.otf2").display().to_string()), "{what}: {said}");
        }
    }
    words
}

#[test]
fn a_damaged_archive_is_an_error_and_no_crash() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 2, 10, "");
    let anchor = experiment.join("traces.otf2");
    let whole = fs::read(&anchor).unwrap();
    for (what, damaged) in [("many", anchor_of_many()), ("cut", whole[..whole.len() / 2].to_vec())] {
        fs::write(&anchor, damaged).unwrap();
        assert!(refuses(&experiment, what).contains("the anchor file of the archive is damaged"), "{what}");
    }
}

/// Whatever the OTF2 library does to the process that reads, the tool names the archive and goes on.
#[test]
fn a_crash_of_the_library_is_an_error_that_names_the_archive() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 2, 10, "");
    // the library waits for its definitions
    let definitions = experiment.join("traces.def");
    fs::remove_file(&definitions).unwrap();
    assert!(Command::new("mkfifo").arg(&definitions).status().unwrap().success());
    let mut report = tool::tool();
    report.arg("report").arg(&experiment).env("TMPDIR", directory.path());
    for mut command in [trace(&experiment, &directory.path().join("copy")), report] {
        let tool = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let children = format!("/proc/{0}/task/{0}/children", tool.id());
        let begun = Instant::now();
        let child: i32 = loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "no child reads");
            if let Some(child) = fs::read_to_string(&children).unwrap().split_whitespace().next() {
                break child.parse().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // SAFETY: kill takes any numbers; the process is a child of this test's own, which waits for it.
        assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
        let output = tool.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let anchor = experiment.join("traces.otf2").display().to_string();
        assert!(said.contains(&anchor) && said.contains("has ended by signal 9"), "{said}");
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["experiment"]);
    }
}
