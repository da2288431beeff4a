//! The programs and scripts for GPUs (tests/gpu) as far as they run without: the programs with libraries that do
//! nothing (tests/c/programs/gpu_libraries.c), the statistics of the overhead, and its tables of a program whose times
//! are known.

mod causes;
mod score_p;
mod soak;
use crate::support::tool;

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn compiled(path: &str, flags: &[&str], to: PathBuf) -> PathBuf {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).args(flags).arg(source(path));
    tool::succeed(compiler.arg("-o").arg(&to).args(["-ldl", "-lpthread"]));
    to
}

/// Python with the scripts beside it, or `None` where there is none.
fn python() -> Option<Command> {
    if Command::new("python3").arg("--version").output().is_err() {
        tool::skip("no python3");
        return None;
    }
    let mut python = Command::new("python3");
    python.arg("-B").current_dir(source("tests/gpu"));
    Some(python)
}

#[test]
fn each_way_says_what_its_ranks_did() {
    let directory = tempfile::tempdir().unwrap();
    let libraries =
        compiled("tests/c/programs/gpu_libraries.c", &["-shared", "-fPIC"], directory.path().join("gpu.so"));
    let ways = compiled("tests/gpu/ways.c", &[], directory.path().join("ways"));
    for (way, functions) in [("group", 1), ("threads", 1), ("together", 4)] {
        let place = directory.path().join(way);
        std::fs::create_dir(&place).unwrap();
        let start = |process: u32| {
            let mut command = tool::host(ways.to_str().unwrap());
            command.arg(&libraries).arg(&libraries).args([way, "0", "2"]).arg(&place);
            command.env_remove("OMPI_COMM_WORLD_RANK").env_remove("OMPI_COMM_WORLD_SIZE");
            command.env("RANK", process.to_string()).env("WORLD_SIZE", "2").spawn().unwrap()
        };
        // the second one waits for the first one's id
        let processes = [1, 0].map(start);
        processes.into_iter().for_each(|mut process| assert!(process.wait().unwrap().success(), "{way}"));
        for process in 0..2_u64 {
            let did = std::fs::read(place.join(format!("did.{process}.json"))).unwrap();
            let did: Value = serde_json::from_slice(&did).unwrap();
            let numbers =
                ["process", "first_rank", "devices", "ranks", "rounds"].map(|field| did[field].as_u64().unwrap());
            assert_eq!((did["way"].as_str(), numbers), (Some(way), [process, 2 * process, 2, 4, 50]));
            let round = did["round"].as_array().unwrap();
            assert!(round.len() == functions && round[0] == serde_json::json!(["AllReduce", 1 << 20]), "{did}");
        }
    }
}

#[test]
fn the_program_of_the_overhead_answers_each_order_on_all_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let libraries =
        compiled("tests/c/programs/gpu_libraries.c", &["-shared", "-fPIC"], directory.path().join("gpu.so"));
    let overhead = compiled("tests/gpu/overhead.c", &[], directory.path().join("overhead"));
    let orders = "allreduce 8 3\nallgather 64 1\nbroadcast 1024 2\nring 8 2\ncommunicator 0 5\n";
    let said = |orders: &str| {
        let mut command = tool::host(overhead.to_str().unwrap());
        command.arg(&libraries).arg(&libraries).args(["4", "2", "1"]).arg(directory.path());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        process.stdin.take().unwrap().write_all(orders.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (is_right, said_of_all) = said(orders);
    let lines: Vec<&str> = said_of_all.lines().collect();
    assert!(is_right && lines.len() == 6 && lines[0] == "ready", "{said_of_all}");
    assert!(lines[1..].iter().all(|us| us.parse::<f64>().is_ok_and(|us| us >= 0.0)), "{said_of_all}");
    for wrong in ["allreduce 8\n", "allreduce 8 0\n", "nothing 8 1\n", "ring 2147483648 1\n"] {
        assert!(!said(wrong).0, "{wrong}");
    }
}

/// Chance that of so many values, from `first` to `last` of the sorted ones, some lie on both sides of the median.
fn coverage(number: u32, first: u32, last: u32) -> f64 {
    let choose = |k: u32| (0..k).fold(1.0, |product, i| product * f64::from(number - i) / f64::from(i + 1));
    // the median lies between them if more than `first` and no more than `last` values are below it
    (first + 1..=last).map(choose).sum::<f64>() / 2_f64.powi(number as i32)
}

#[test]
fn intervals_hold_their_confidence_and_are_no_wider_than_they_must() {
    let Some(mut python) = python() else { return };
    tool::succeed(python.args(["-m", "doctest", "interval.py"]));
    let Some(mut python) = self::python() else { return };
    let print = "import interval, json; print(json.dumps([interval.ranks(n) for n in range(1, 61)]))";
    let all: Vec<Option<(u32, u32)>> = serde_json::from_str(&tool::succeed(python.args(["-c", print]))).unwrap();
    for (number, places) in (1..).zip(all) {
        match places {
            None => assert!(coverage(number, 0, number - 1) < 0.95, "{number}"),
            Some((first, last)) => {
                assert_eq!(first + last, number - 1, "{number}");
                assert!(coverage(number, first, last) >= 0.95, "{number}: {first} to {last}");
                assert!(coverage(number, first + 1, last - 1) < 0.95, "{number}: {first} to {last} are too wide");
            }
        }
    }
}

/// A program that answers with times from its environment, and one that takes 3 us longer.
#[test]
fn the_tables_of_the_overhead_have_the_differences_of_the_programs() {
    let Some(mut python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let text = "#!/bin/sh\necho ready\nwhile read -r kind bytes number; do\n  n=$((n + 1))\n  \
                echo \"$((n % 7 + MORE)).5\"\ndone\n";
    std::fs::write(&program, text).unwrap();
    let mut permissions = program.metadata().unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&program, permissions).unwrap();
    let settings = r#"["no plugin", {"MORE": "10"}, null]
["slower", {"MORE": "13"}, null]
["the same", {"MORE": "10"}, null]
"#;
    python.arg("overhead.py").arg(directory.path()).arg(&program).args(["-", "-", "1", "2", "2"]);
    python.env("REDUCED", "1").env("ROUNDS", "6").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = python.spawn().unwrap();
    process.stdin.take().unwrap().write_all(settings.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{}", said[1]);
    let cells = |line: &str| line.matches("+3.00 (+3.00 to +3.00)").count();
    let slower: Vec<&str> = said[0].lines().filter(|line| line.starts_with("| slower, more |")).collect();
    // two kinds with five sizes, and communicators
    assert_eq!(slower.iter().map(|line| cells(line)).collect::<Vec<_>>(), [5, 5, 1], "{}", said[0]);
    assert_eq!(said[0].matches("+0.00 (+0.00 to +0.00)").count(), 11, "{}", said[0]);
    let all: Value = serde_json::from_slice(&std::fs::read(directory.path().join("overhead.2.json")).unwrap()).unwrap();
    let rows = all["rows"].as_array().unwrap();
    assert!(rows.len() == 33 && rows.iter().all(|row| row["us"].as_array().unwrap().len() == 6), "{all}");

    let drawn = directory.path().join("drawn.svg");
    let Some(mut python) = self::python() else { return };
    let plot = python.arg("overhead_plot.py").arg(directory.path().join("overhead.2.json")).arg(&drawn);
    tool::succeed(plot);
    let drawn = std::fs::read_to_string(drawn).unwrap();
    // a line for each of two settings and two kinds, with an interval at each size
    assert!(drawn.matches("<polyline").count() == 4 && drawn.trim_end().ends_with("</svg>"), "{drawn}");
    assert_eq!(drawn.matches("<line").count(), 2 + 4 * 5, "{drawn}");
    assert!(!drawn.contains("nan") && !drawn.contains("inf"), "{drawn}");
}
