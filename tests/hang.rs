//! What `scorep-nccl hang` says of jobs that hang, made with live processes (tests/c/nccl/status_host.c) and the
//! library that is shipped; what `ask` has them do.

use crate::support::{ranks, tool};

use ranks::Ranks;
use serde_json::{Value, json};

/// Enters the next collective of a communicator, by a key, and has its GPU begin it.
fn enter(key: &str, comm: &str, func: &str, count: u64) -> String {
    format!(
        "call {key}c {comm} {func} {count} ncclFloat32\n return {key}c
         start {key} {comm} {func} {count} ncclFloat32 {key}c\n begin {key}"
    )
}

/// A job of four processes and a communicator of all, with ten operations.
fn world() -> Ranks {
    let mut job = Ranks::begin(4);
    job.each(|rank| format!("init ab {rank} 4\n whole ab 10"));
    job
}

/// The only cause.
fn cause(answer: &Value) -> &Value {
    let findings = answer["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &answer["verdict"]), (1, &json!("hang")), "{answer:#}");
    &findings[0]
}

#[test]
fn a_job_that_is_well_is_said_to_be() {
    let mut job = world();
    let answer = job.hang(0);
    assert!(
        answer["verdict"] == "well" && answer["findings"] == json!([]) && answer["unknown"] == json!([]),
        "{answer:#}"
    );
    assert_eq!(answer["processes"]["running"], 4);
    assert!(job.said(0, &[]).starts_with("WELL: operations go on: the last operation was "));
    job.end();
    assert_eq!(job.hang(0)["verdict"], "over");
    assert_eq!(job.said(0, &[]).lines().next(), Some("OVER: all 4 processes have ended in order."));
}

#[test]
fn a_rank_that_skips_a_collective_is_named() {
    let mut job = world();
    job.each(|rank| if rank == 2 { String::new() } else { enter("a", "ab", "AllReduce", 1 << 20) });
    let answer = job.hang(1);
    let wait = &cause(&answer)["wait"];
    assert_eq!(cause(&answer)["cause"], "not_entered");
    assert_eq!((&wait["number"], &wait["waiters"]), (&json!(10), &json!([0, 1, 3])));
    assert_eq!((&wait["lacking"][0]["rank"], &wait["lacking"][0]["process"]["pid"]), (&json!(2), &json!(job.pid(2))));
    let said = job.said(1, &[]);
    assert!(
        said.starts_with("HANG: rank 2 has not entered AllReduce #10 of communicator 00000000000000ab.\n"),
        "{said}"
    );
    assert!(said.contains("4 MiB. Ranks 0,1,3 wait in it, the longest for "), "{said}");
    assert!(said.contains(&format!("`py-spy dump --pid {}`", job.pid(2))), "{said}");
    // whole on a line of its own, to be copied
    let ask = format!("    scorep-nccl ask {} --stacks --pid {} --host ", job.directory().display(), job.pid(2));
    let (commands, sentences): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with(&ask));
    assert_eq!(commands.len(), 1, "{said}");
    assert!(sentences.len() < 15 && sentences.iter().all(|line| line.chars().count() <= 80), "{said}");
    // the rank was late alone: it enters, and all finish
    job.each(|rank| if rank == 2 { enter("a", "ab", "AllReduce", 1 << 20) } else { String::new() });
    job.each(|_| "finish a".into());
    assert_eq!(job.hang(0)["verdict"], "well");
}

/// The preset `api`: nobody reports whether the GPU has finished an operation.
#[test]
fn a_rank_that_has_not_come_is_named_where_nothing_is_known_of_gpus() {
    let mut job = Ranks::begin_with(4, "api");
    job.each(|rank| format!("init ab {rank} 4\n whole ab 10"));
    job.each(|rank| if rank == 2 { String::new() } else { "whole ab 30".into() });
    let answer = job.hang(1);
    let wait = &cause(&answer)["wait"];
    assert_eq!(cause(&answer)["cause"], "not_entered");
    assert_eq!((&wait["number"], &wait["waiters"]), (&json!(10), &json!([0, 1, 3])));
}

#[test]
fn a_rank_with_another_count_is_named() {
    let mut job = world();
    job.each(|rank| enter("a", "ab", "AllReduce", if rank == 3 { 1000 } else { 2000 }));
    let answer = job.hang(1);
    let cause = cause(&answer);
    assert_eq!((&cause["cause"], &cause["number"]), (&json!("desynchronised"), &json!(10)));
    let variants: Vec<_> = cause["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| (&variant["call"]["bytes"], &variant["ranks"]))
        .collect();
    assert_eq!(variants, [(&json!(8000), &json!([0, 1, 2])), (&json!(4000), &json!([3]))]);
}

#[test]
fn a_killed_process_is_named_and_who_waits_for_it() {
    let mut job = world();
    job.each(|rank| if rank == 1 { String::new() } else { enter("a", "ab", "AllReduce", 1) });
    job.kill(1);
    let answer = job.hang(1);
    let cause = cause(&answer);
    assert_eq!((&cause["cause"], &cause["condition"]), (&json!("processes"), &json!("dead")));
    assert_eq!((&cause["processes"][0]["pid"], &cause["waits"][0]["waiters"]), (&json!(job.pid(1)), &json!([0, 2, 3])));
    assert_eq!(job.said(1, &[]).lines().next().unwrap().split(" on ").next(), Some("HANG: process 1"));
}

#[test]
fn a_stopped_process_is_named() {
    let mut job = world();
    job.each(|rank| if rank == 1 { String::new() } else { enter("a", "ab", "AllReduce", 1) });
    job.signal(1, libc::SIGSTOP);
    let answer = job.hang(1);
    let cause = cause(&answer);
    assert_eq!((&cause["cause"], &cause["condition"]), (&json!("processes"), &json!("stopped")));
    assert_eq!(cause["processes"][0]["pid"], json!(job.pid(1)));
    assert!(job.said(1, &[]).contains(&format!("kill -CONT {}", job.pid(1))));
    job.signal(1, libc::SIGCONT);
    assert_eq!(cause_of(&job.hang(1)), "not_entered");
}

fn cause_of(answer: &Value) -> &str {
    cause(answer)["cause"].as_str().unwrap()
}

#[test]
fn a_process_that_has_ended_in_order_is_named() {
    let mut job = world();
    job.each(|rank| if rank == 1 { String::new() } else { enter("a", "ab", "AllReduce", 1) });
    job.end_one(1);
    let answer = job.hang(1);
    assert_eq!(
        (&cause(&answer)["condition"], &cause(&answer)["processes"][0]["pid"]),
        (&json!("ended"), &json!(job.pid(1)))
    );
}

#[test]
fn a_network_step_that_stands_is_named_with_both_ends() {
    let mut job = world();
    job.each(|rank| {
        enter("a", "ab", "AllReduce", 1 << 20)
            + match rank {
                0 => "\n proxy p a 1 2 1\n step s p\n sent s",
                1 => "\n proxy p a 0 2 0\n step s p",
                _ => "",
            }
    });
    let answer = job.hang(1);
    let link = &cause(&answer)["network"][0];
    assert_eq!(cause_of(&answer), "unfinished");
    assert_eq!([&link["from"], &link["to"], &link["channel"]], [&json!(0), &json!(1), &json!(2)]);
    assert_eq!([&link["sender"]["state"], &link["receiver"]["state"]], [&json!("network"), &json!("step")]);
}

#[test]
fn communicators_in_crossed_order_are_named() {
    let mut job = Ranks::begin(2);
    job.each(|rank| format!("init ab {rank} 2\n init cd {rank} 2\n whole ab 3\n whole cd 3"));
    job.each(|rank| enter("a", if rank == 0 { "ab" } else { "cd" }, "AllReduce", 1));
    let answer = job.hang(1);
    let waits: Vec<_> = cause(&answer)["circle"].as_array().unwrap().iter().map(|wait| &wait["waiters"]).collect();
    assert_eq!((cause_of(&answer), waits), ("crossed", vec![&json!([0]), &json!([1])]));
}

#[test]
fn a_gpu_that_does_not_begin_is_named() {
    let mut job = world();
    let entered = enter("a", "ab", "AllReduce", 1);
    job.each(|rank| if rank == 2 { entered.replace("begin a", "flush") } else { entered.clone() });
    let answer = job.hang(1);
    assert_eq!((cause_of(&answer), &cause(&answer)["wait"]["lacking"][0]["rank"]), ("not_begun", &json!(2)));
}

#[test]
fn foreign_files_are_named_and_make_an_answer_doubtful() {
    let job = world();
    std::fs::write(job.directory().join("x.status.json"), "{").unwrap();
    let output = job.command("hang").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().count() == 1 && said.contains("x.status.json: it is no status file"), "{said}");
    let nowhere = tool::tool().args(["hang", "/nowhere"]).output().unwrap();
    assert!(nowhere.status.code() == Some(2) && String::from_utf8_lossy(&nowhere.stderr).contains("/nowhere"));
    let empty = tempfile::tempdir().unwrap();
    let empty = tool::tool().arg("hang").arg(empty.path()).output().unwrap();
    assert!(
        empty.status.code() == Some(2) && String::from_utf8_lossy(&empty.stdout).contains("there is no status file")
    );
}

/// Whatever a status says, its lines are copied into a shell.
#[test]
fn names_of_a_status_are_quoted_for_a_shell_and_command_no_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let origin =
        common::origin::Origin { host: Some("a; touch\u{1b}[2J x".into()), rank: Some(0), ..Default::default() };
    let status = common::status::Status { schema: common::status::SCHEMA.into(), pid: 7, origin, ..Default::default() };
    std::fs::write(directory.path().join("x.status.json"), serde_json::to_vec(&status).unwrap()).unwrap();
    let output = tool::tool().arg("hang").arg(directory.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let in_one = said.split_whitespace().collect::<Vec<_>>().join(" ");
    // in double quotes, a backslash stands twice
    assert!(in_one.contains(r#"Next: is "a; touch\\u{1b}[2J x" up?"#), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}

/// Memory is that of the whole machine: a tool that takes it ends other programs.
#[test]
fn files_that_would_take_much_memory_are_left_out_within_little() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: String| {
        std::fs::write(directory.path().join(format!("{name}.status.json")), text).unwrap();
    };
    let open = format!("{{\"schema\": \"{}\", \"communicators\": [", common::status::SCHEMA);
    for number in 0..4 {
        put(&format!("long{number}"), open.clone() + &"{},".repeat(16 << 20 >> 2) + "{}]}");
        put(&format!("many{number}"), open.clone() + &"{},".repeat(1 << 20) + "{}]}");
    }
    for command in ["hang", "ask"] {
        let mut limited = tool::within("prlimit", &[std::ffi::OsStr::new("--as=1000000000")], &tool::tool());
        limited.arg(command).arg(directory.path());
        limited.args(if command == "ask" { &["--back", "--wait", "0"][..] } else { &["--verbose"] });
        let output = limited.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 3), "{command}: {} {said}", output.status);
        assert!(said.contains("long0.status.json: it has more than 4 MiB"), "{said}");
        if command == "hang" {
            assert!(said.contains("many0.status.json: it is no status file: it has more than 131072 values"), "{said}");
        }
    }
}

#[test]
fn a_watch_ends_with_the_job() {
    let mut job = world();
    let watch =
        job.command("hang").args(["--watch", "0.1", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    job.end();
    let output = watch.wait_with_output().unwrap();
    let last: Value = serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').rev().nth(1).unwrap()).unwrap();
    assert_eq!((output.status.code(), &last["verdict"]), (Some(0), &json!("over")));
}
