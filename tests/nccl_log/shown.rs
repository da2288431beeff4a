//! Where a report shows NCCL's log: a line at its beginning if there is a fallback, and the part `nccl`.

use crate::nccl_log::made::Job;
use crate::nccl_log::report;
use std::fs;

/// Returns what the tool prints with this log, with single spaces, and the page.
fn printed(log: &str, arguments: &[&str]) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let (file, page) = (directory.path().join("log"), directory.path().join("page.html"));
    fs::write(&file, log).unwrap();
    let output = report(&[&file]).args(arguments).arg("--html").arg(&page).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    (text.split_whitespace().collect::<Vec<_>>().join(" "), fs::read_to_string(page).unwrap().replace('\u{a0}', " "))
}

#[test]
fn a_fallback_is_named_at_the_beginning_and_an_ordinary_log_is_not() {
    let job = Job { inside: |_| "SHM/direct", ..Job::new(1, 2) }.set("NCCL_P2P_DISABLE set by environment to 1");
    let said =
        "2 GPU pairs of one node are connected by SHM/direct, on made0. NCCL_P2P_DISABLE=1 is set by environment.";
    let (text, page) = printed(&job.text(), &[]);
    let first = format!("NCCL's log names 1 fallback: {said} --part nccl has all.");
    assert!(text.contains(&first) && text.find(&first) < text.find("Which rank is late?"), "{text}");
    assert!(page.contains(said) && page.contains("--part nccl"), "{page}");
    let (text, page) = printed(&Job::new(1, 2).text(), &[]);
    assert!(!text.contains("NCCL's log") && page.contains("NCCL's log names no fallback"), "{text}");
    let (text, _) = printed(&Job::new(1, 2).text(), &["--part", "nccl"]);
    assert!(
        text.contains("The log has") && text.contains("NCCL's log names no fallback.") && text.contains("P2P/CUMEM"),
        "{text}"
    );
}

#[test]
fn what_a_log_says_is_shown_and_not_run() {
    let job = Job::new(1, 2);
    let warning = job.warning(0, "\u{1b}[2J<script>alert(1)</script> \u{202e}reversed");
    let (text, page) = printed(&(warning + "\n" + &job.text()), &["--part", "nccl"]);
    assert!(text.contains("NCCL warned 1 time on made0: \\u{1b}[2J<script>") && !text.contains('\u{1b}'), "{text}");
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert(1)"), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'), "{page}");
}

#[test]
fn a_log_without_nccls_lines_says_how_to_get_them() {
    let (text, _) = printed("Epoch 1\n", &["--part", "nccl"]);
    assert!(text.contains("The log has 1 line, and none is NCCL's: run the job with NCCL_DEBUG=INFO."), "{text}");
}

#[test]
fn a_log_that_is_not_there_is_named_and_the_report_is_made() {
    let output = report(&["no/such/log".as_ref()]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no/such/log: No such file"), "{said}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("Which rank is late?"));
}

#[test]
fn programs_read_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (file, csv) = (directory.path().join("log"), directory.path().join("csv"));
    fs::write(&file, Job::over_sockets(2, 2).set("NCCL_IB_DISABLE set by environment to 1.").text()).unwrap();
    assert!(report(&[&file]).arg("--csv").arg(&csv).output().unwrap().status.success());
    let rows = |name: &str| fs::read_to_string(csv.join(name)).unwrap();
    let of_communicators = rows("nccl.csv");
    assert!(
        of_communicators.starts_with("communicator,name,ranks,found,nodes,releases,networks,interfaces,"),
        "{of_communicators}"
    );
    assert!(
        of_communicators.contains("5ca1ab1e0000c0de,4,4,2,2.28.1+cuda12.9,Socket,eth0,32 P2P/CUMEM,32 NET/Socket,"),
        "{of_communicators}"
    );
    assert!(rows("nccl_fallbacks.csv").contains("NCCL_IB_DISABLE=1 is set by environment"));
}
