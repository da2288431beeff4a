//! Captures and lines that the reader accepts, and what it makes of them.

use std::path::{Path, PathBuf};

use super::*;
use common::origin::Origin;

/// Reads a capture whose fourth line starts handle 2 as this type with these fields, and returns that event.
fn event(kind: &str, fields: &str) -> RecordedEvent {
    let line = start(kind, fields);
    let capture = read_lines(&[META, INIT, GROUP, &line]).unwrap();
    match &capture.lines.last().unwrap().what {
        CallbackKind::Start { event, h: 2, parent: 1, .. } => event.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_recorded_capture_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let list =
        |folder: &Path| -> Vec<PathBuf> { fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let mut files = 0;
    for run in list(&folder).iter().filter(|path| path.is_dir()) {
        for path in list(run).iter().filter(|path| path.extension().is_some_and(|end| end == "gz")) {
            let capture = read(path).unwrap();
            let unknown = |call: &&Callback| {
                matches!(&call.what, CallbackKind::Start { event: RecordedEvent::Unknown { .. }, .. })
            };
            assert_eq!(capture.lines.iter().find(unknown), None, "{}", path.display());
            assert_eq!(capture.skipped, Skipped::default(), "{}", path.display());
            let last = capture.lines.last().unwrap().line.max(capture.kernels.last().map_or(0, |kernel| kernel.line));
            assert_eq!(last as usize, capture.lines.len() + capture.kernels.len() + 1);
            files += 1;
        }
    }
    assert_eq!(files, 62);
}

#[test]
fn a_capture_is_read_as_it_stands() {
    let state = r#"{"t":4,"tid":1,"cb":"state","h":1,"state":23}"#;
    // a state that only a newer NCCL has
    let state_with = r#"{"t":5,"tid":1,"cb":"state","h":1,"state":99,"arg":4096,"later":[{"x":1.5}]}"#;
    let stop = r#"{"t":6,"tid":3,"cb":"stop","h":1}"#;
    let finalize = r#"{"t":7,"tid":1,"cb":"finalize","ctx":1}"#;
    let capture = read_lines(&[META, INIT, GROUP, state, state_with, stop, finalize]).unwrap();
    let started = Some("1970-01-01T00:00:00Z".to_owned());
    let origin = Origin { interface: Some(5), ended: started.clone(), started, ..Origin::default() };
    let meta = Meta { api: 5, mask: 4095, pid: 7, real0: 100, mono0: 50, dropped: 3, full: None, origin };
    assert_eq!(capture.meta, meta);
    let communicator = IntroducedCommunicator { comm: 255, name: Some("".into()), nnodes: 1, nranks: 2, rank: 0 };
    let expected = [
        (1, 1, CallbackKind::Init { ctx: 1, communicator }),
        (2, 1, CallbackKind::Start { ctx: 1, h: 1, parent: 0, rank: 0, event: RecordedEvent::Group }),
        (4, 1, CallbackKind::State { h: 1, state: 23, arg: None }),
        (5, 1, CallbackKind::State { h: 1, state: 99, arg: Some(4096) }),
        (6, 3, CallbackKind::Stop { h: 1 }),
        (7, 1, CallbackKind::Finalize { ctx: 1 }),
    ];
    let expected = (2..).zip(expected).map(|(line, (t, tid, what))| Callback { t, tid, line, what });
    assert_eq!(capture.lines, expected.collect::<Vec<_>>());
    assert_eq!((capture.kernels, capture.skipped), (vec![], Skipped::default()));
}

#[test]
fn times_of_kernels_are_no_calls() {
    let launch = start("\"KernelLaunch\"", ",\"stream\":\"0\"");
    let kernel = r#"{"t":9,"tid":3,"cb":"kernel","h":2,"first":18446744073709551614,"last":18446744073709551615}"#;
    let again = r#"{"t":9,"tid":3,"cb":"kernel","h":2,"first":1,"last":3,"begin":3,"at":4}"#;
    let stop = r#"{"t":10,"tid":2,"cb":"stop","h":2}"#;
    let capture = read_lines(&[META, INIT, GROUP, &launch, kernel, again, stop]).unwrap();
    let of_launch = Kernel { t: 9, tid: 3, line: 5, h: 2, first: u64::MAX - 1, last: u64::MAX, begin: None, at: None };
    assert_eq!(
        capture.kernels,
        [of_launch, Kernel { line: 6, first: 1, last: 3, begin: Some(3), at: Some(4), ..of_launch }]
    );
    assert_eq!(capture.lines.iter().map(|call| call.line).collect::<Vec<_>>(), [2, 3, 4, 7]);
}

#[test]
fn lines_of_other_recorders_are_skipped_and_counted() {
    let pause = r#"{"t":4,"tid":9,"cb":"pause","h":1,"later":[{"x":1.5}]}"#;
    let gpu_clock = r#"{"t":5,"tid":1,"cb":"gpu_clock","ctx":1}"#;
    // earlier versions of this library wrote it
    let predicted = r#"{"t":5,"tid":1,"cb":"predicted","prediction":{"comm":"00000000000000ff","bytes":8}}"#;
    let capture = read_lines(&[META, INIT, pause, GROUP, pause, gpu_clock]);
    assert!(capture.is_err(), "handle 1 is not known yet on line 3");
    let capture = read_lines(&[META, INIT, GROUP, pause, gpu_clock, predicted, pause]).unwrap();
    assert_eq!(capture.skipped, Skipped { count: 4, first: Some(("pause".into(), 4)) });
    assert_eq!(capture.lines.len(), 2);
}

#[test]
fn types_are_known_by_name_and_by_number() {
    let fields = r#","seq":9,"func":"Fun\u0063","count":10,"dtype":null,"root":-1,"peer":-2,"nch":255,"nwarps":3,"algo":"RING","proto":"LL","pid":-7,"ch":31,"nsteps":4,"chunk":5,"send":1,"step":6,"ptimer":18446744073709551615,"phase":2,"depth":1,"graph":1,"stream":"55bed7860030""#;
    for (bit, name) in event::NAMES.iter().enumerate() {
        let by_name = event(&format!("\"{name}\""), fields);
        assert_eq!(by_name.bits(), 1 << bit, "{name}");
        assert!(format!("{by_name:?}").starts_with(name), "{by_name:?}");
        for kind in [format!("{}", 1 << bit), format!("\"{}\"", 1 << bit), format!("\"0x{:X}\"", 1 << bit)] {
            assert_eq!(event(&kind, fields), by_name, "{kind}");
        }
    }
    let function = Some("Func".into());
    assert_eq!(
        event("\"P2p\"", fields),
        RecordedEvent::P2p { function, count: 10, datatype: None, peer: -2, channels: 255, tag: 0 }
    );
    let op = RecordedEvent::ProxyOp { pid: -7, channel: 31, peer: -2, steps: 4, chunk: 5, send: 1 };
    assert_eq!(event("8", fields), op);
    assert_eq!(event("2048", fields), RecordedEvent::KernelLaunch { stream: 0x55be_d786_0030 });
}

#[test]
fn a_number_that_is_no_known_type_is_passed_on() {
    for (kind, bits) in
        [("65536", 1 << 16), ("\"65536\"", 1 << 16), ("\"0x8000000000000000\"", 1 << 63), ("3", 3), ("0", 0)]
    {
        assert_eq!(event(kind, ""), RecordedEvent::Unknown { bits });
    }
}

#[test]
fn several_gzip_members_are_one_text() {
    let mut bytes = gzip(&format!("{META}\n{}", &INIT[..10]));
    bytes.extend(gzip(&format!("{}\n{GROUP}", &INIT[10..])));
    assert_eq!(read_bytes(&bytes).unwrap().lines.len(), 2);
}

#[test]
fn late_calls_are_legal() {
    let finalize = r#"{"t":4,"tid":1,"cb":"finalize","ctx":1}"#;
    let stop = r#"{"t":4,"tid":1,"cb":"stop","h":1}"#;
    let child = start("\"ProxyCtrl\"", "");
    assert_eq!(read_lines(&[META, INIT, GROUP, stop, stop, finalize, &child]).unwrap().lines.len(), 6);
}
