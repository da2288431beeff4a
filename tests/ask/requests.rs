//! Requests that nobody should do, put in the request's place: malformed, put back, or from before the process.

use crate::ask::{asked, job};
use crate::support::ranks::Ranks;
use crate::support::site::Site;
use common::status::Status;
use common::status::request::{FILE, MOST_BYTES, SCHEMA, StatusRequest, To};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Whatever stands in the request's place, the job goes on and takes the next request.
#[test]
fn a_malformed_request_harms_no_job() {
    let site = Site::new();
    let mut job = job(&site);
    let place = job.directory().join(FILE);
    let own = job.status(0).unwrap().mask;
    let whole =
        |rest: &str| format!("{{\"schema\": \"{SCHEMA}\", \"ticket\": \"1\", \"to\": \"all\", {rest}}}").into_bytes();
    let long = usize::try_from(MOST_BYTES).unwrap() + 1;
    let texts: [Vec<u8>; 11] = [
        vec![],
        vec![0; 4096],
        b"\xff\xfe{".to_vec(),
        b"[".repeat(10_000),
        b" ".repeat(long),
        b"{\"schema\": 7}".to_vec(),
        format!("{{\"schema\": \"{SCHEMA}\", \"ticket\": \"1\", \"back\": true}}").into_bytes(),
        format!("{{\"schema\": \"{SCHEMA}\", \"to\": \"all\", \"back\": true}}").into_bytes(),
        whole("\"preset\": [\"network\"]"),
        whole("\"preset\": \"network\", \"seconds\": \"long\""),
        whole("\"preset\": \"none of them\", \"seconds\": -1e308"),
    ];
    for text in &texts {
        refuses(&mut job, || fs::write(&place, text).unwrap());
    }
    refuses(&mut job, || {
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
    });
    refuses(&mut job, || {
        fs::remove_dir(&place).unwrap();
        let name = CString::new(place.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a string that ends with 0.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    });
    refuses(&mut job, || {
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
    });
    assert_eq!(job.status(0).unwrap().mask, own);
    assert_eq!(asked(&job, &["--back"], 0), "2 of 2 processes have taken the request.\n");
    job.end();
}

/// Both processes look at a request that is put in its place, refuse it, and go on.
fn refuses(job: &mut Ranks, put: impl FnOnce()) {
    let taken = |status: &Status| status.answer.as_ref().map(|answer| answer.taken);
    let before = [0, 1].map(|rank| taken(&job.status(rank).unwrap()));
    put();
    for (rank, before) in before.into_iter().enumerate() {
        let status = job.await_status(rank, "whole ab 1", |status| taken(status) > before);
        assert!(status.answer.is_some_and(|answer| answer.refused.is_some()), "rank {rank}");
    }
}

/// Whoever may write to the directory may put an older request of the user's back.
#[test]
fn an_earlier_request_that_is_put_back_is_not_done_again() {
    let site = Site::new();
    let mut job = job(&site);
    let (place, kept) = (job.directory().join(FILE), job.directory().join("kept"));
    let own = job.status(0).unwrap().mask;
    asked(&job, &["--preset", "network"], 3);
    fs::hard_link(&place, &kept).unwrap();
    let first = job.status(0).unwrap().answer.unwrap().ticket;
    assert_eq!(asked(&job, &["--back"], 0), "2 of 2 processes have taken the request.\n");
    let second = job.status(0).unwrap().answer.unwrap().ticket;
    assert_ne!(first, second);
    fs::rename(&kept, &place).unwrap();
    let is_again = |job: &mut Ranks| {
        let beat = job.status(0).unwrap().beat;
        // it has looked at least twice
        let status = job.await_status(0, "whole ab 1", |status| status.beat > beat + 2);
        (status.answer.unwrap().ticket != second, status.mask != own)
    };
    assert_eq!(is_again(&mut job), (false, false));
    // the same with nothing in between, which makes the file another one
    fs::rename(&place, &kept).unwrap();
    assert_eq!(is_again(&mut job), (false, false));
    fs::rename(&kept, &place).unwrap();
    assert_eq!(is_again(&mut job), (false, false));
    job.end();
}

/// A request that nobody has read, put back later, in another job's directory, too.
#[test]
fn a_request_from_before_a_process_is_not_for_it() {
    let site = Site::new();
    let mut job = job(&site);
    let (place, aside) = (job.directory().join(FILE), job.directory().join("aside"));
    let put = |ticket: &str, seconds: u64| {
        let request = StatusRequest {
            schema: SCHEMA.into(),
            ticket: ticket.into(),
            to: Some(To::All),
            preset: Some("network".into()),
            ..StatusRequest::default()
        };
        fs::write(&aside, serde_json::to_vec(&request).unwrap()).unwrap();
        let made = std::time::SystemTime::now() - Duration::from_secs(seconds);
        fs::File::options().write(true).open(&aside).unwrap().set_modified(made).unwrap();
        fs::rename(&aside, &place).unwrap();
    };
    let own = job.status(0).unwrap().mask;
    let begun = Instant::now();
    put("1", 3600);
    while begun.elapsed() < Duration::from_secs(3) {
        job.order(0, "whole ab 1");
        std::thread::sleep(Duration::from_millis(100));
    }
    // from before the process
    assert_eq!((job.status(0).unwrap().answer, job.status(0).unwrap().mask), (None, own));
    put("2", 0);
    let answer = job.await_status(0, "whole ab 1", |status| status.answer.is_some()).answer.unwrap();
    assert_eq!((answer.ticket.as_str(), answer.refused), ("2", None));
}
