//! Lines that are written, and read again.

use super::*;
use common::event::network::NetworkEvent;

/// Strings of a test that are in quotation marks already.
struct AsTheyAre;

impl QuotedStrings<Option<&'static str>> for AsTheyAre {
    fn quoted(&self, text: Option<&'static str>) -> &str {
        text.unwrap_or("null")
    }
}

fn line(content: &Content<Option<&'static str>>) -> String {
    let mut line = Vec::new();
    content.write(&mut line, &AsTheyAre).unwrap();
    String::from_utf8(line).unwrap().strip_suffix('\n').unwrap().to_owned()
}

fn called(what: CallbackKind<Option<&'static str>>) -> String {
    line(&Content::Call(Callback { t: 5, tid: 1, line: 0, what }))
}

fn started(event: RecordedEvent<Option<&'static str>>) -> String {
    called(CallbackKind::Start { ctx: 1, h: 2, parent: 1, rank: 0, event })
}

/// Each event with different values in all fields.
fn events() -> [RecordedEvent<Option<&'static str>>; 19] {
    let [function, datatype] = [Some("\"Send\""), Some("\"ncclInt8\"")];
    let (count, stream, tag) = (3, 0xab, 9);
    [
        RecordedEvent::Group,
        RecordedEvent::Coll {
            sequence: 1,
            function,
            count,
            datatype,
            root: -1,
            channels: 4,
            warps: 5,
            algorithm: Some("\"RING\""),
            protocol: None,
            symmetric: Some(Some("\"V\"")),
            tag,
        },
        RecordedEvent::P2p { function, count, datatype, peer: -1, channels: 4, tag: 0 },
        RecordedEvent::ProxyOp { pid: 1, channel: 2, peer: 3, steps: 4, chunk: 5, send: 1 },
        RecordedEvent::ProxyStep { step: 1 },
        RecordedEvent::ProxyCtrl,
        RecordedEvent::KernelCh { channel: 1, ptimer: u64::MAX },
        RecordedEvent::NetPlugin { plugin: 65537, event: NetworkEvent::QueuePair { device: 1, number: 2, bytes: 3 } },
        RecordedEvent::NetPlugin {
            plugin: 131_073,
            event: NetworkEvent::Socket { descriptor: 1, sends: true, bytes: 3 },
        },
        RecordedEvent::NetPlugin { plugin: 1, event: NetworkEvent::Other },
        RecordedEvent::GroupApi { depth: 1, captured: true },
        RecordedEvent::CollApi { function, count, datatype, root: 1, stream, captured: false, tag },
        RecordedEvent::P2pApi { function, count, datatype, stream, captured: false, tag },
        RecordedEvent::KernelLaunch { stream },
        RecordedEvent::CeColl { sequence: 1, function, count, datatype, root: 2, stream, tag },
        RecordedEvent::CeSync,
        RecordedEvent::CeBatch,
        RecordedEvent::KernelPhase { channel: 1, phase: 2, ptimer: 3 },
        RecordedEvent::Unknown { bits: 65536 },
    ]
}

#[test]
fn a_line_is_json_with_the_fields_of_its_callback() {
    let name = Some("a \"b\"\\\n".into());
    let communicator = IntroducedCommunicator { comm: 0xab, name, nnodes: 1, nranks: 2, rank: 0 };
    let expected = r#"{"t":5,"tid":1,"cb":"init","ctx":1,"comm":"00000000000000ab","name":"a \"b\"\\\u000a","nnodes":1,"nranks":2,"rank":0}"#;
    assert_eq!(called(CallbackKind::Init { ctx: 1, communicator }), expected);
    let expected = [
        r#""Group","parent":1,"rank":0"#,
        r#""Coll","parent":1,"rank":0,"seq":1,"func":"Send","count":3,"dtype":"ncclInt8","root":-1,"nch":4,"nwarps":5,"algo":"RING","proto":null,"sym":1,"variant":"V","tag":9"#,
        r#""P2p","parent":1,"rank":0,"func":"Send","count":3,"dtype":"ncclInt8","peer":-1,"nch":4"#,
        r#""ProxyOp","parent":1,"rank":0,"pid":1,"ch":2,"peer":3,"nsteps":4,"chunk":5,"send":1"#,
        r#""ProxyStep","parent":1,"rank":0,"step":1"#,
        r#""ProxyCtrl","parent":1,"rank":0"#,
        r#""KernelCh","parent":1,"rank":0,"ch":1,"ptimer":18446744073709551615"#,
        r#""NetPlugin","parent":1,"rank":0,"plugin":65537,"dev":1,"qp":2,"bytes":3"#,
        r#""NetPlugin","parent":1,"rank":0,"plugin":131073,"fd":1,"send":1,"bytes":3"#,
        r#""NetPlugin","parent":1,"rank":0,"plugin":1"#,
        r#""GroupApi","parent":1,"rank":0,"depth":1,"graph":1"#,
        r#""CollApi","parent":1,"rank":0,"func":"Send","count":3,"dtype":"ncclInt8","root":1,"stream":"ab","graph":0,"tag":9"#,
        r#""P2pApi","parent":1,"rank":0,"func":"Send","count":3,"dtype":"ncclInt8","stream":"ab","graph":0,"tag":9"#,
        r#""KernelLaunch","parent":1,"rank":0,"stream":"ab""#,
        r#""CeColl","parent":1,"rank":0,"seq":1,"func":"Send","count":3,"dtype":"ncclInt8","root":2,"stream":"ab","tag":9"#,
        r#""CeSync","parent":1,"rank":0"#,
        r#""CeBatch","parent":1,"rank":0"#,
        r#""KernelPhase","parent":1,"rank":0,"ch":1,"phase":2,"ptimer":3"#,
        r#"65536,"parent":1,"rank":0"#,
    ];
    for (event, expected) in events().into_iter().zip(expected) {
        assert_eq!(started(event), format!(r#"{{"t":5,"tid":1,"cb":"start","ctx":1,"h":2,"type":{expected}}}"#));
    }
    let state = |state, arg| called(CallbackKind::State { h: 2, state, arg });
    assert_eq!(state(9, Some(u64::MAX)), r#"{"t":5,"tid":1,"cb":"state","h":2,"state":9,"arg":18446744073709551615}"#);
    assert_eq!(state(23, None), r#"{"t":5,"tid":1,"cb":"state","h":2,"state":23}"#);
    assert_eq!(called(CallbackKind::Stop { h: 2 }), r#"{"t":5,"tid":1,"cb":"stop","h":2}"#);
    assert_eq!(called(CallbackKind::Finalize { ctx: 1 }), r#"{"t":5,"tid":1,"cb":"finalize","ctx":1}"#);
    let kernel = Kernel { t: 5, tid: 1, line: 0, h: 2, first: 3, last: 9, begin: Some(4), at: Some(1) };
    let expected = r#"{"t":5,"tid":1,"cb":"kernel","h":2,"first":3,"begin":4,"last":9,"at":1}"#;
    assert_eq!(line(&Content::Kernel(kernel)), expected);
    let anchor = RecordedAnchor { t: 5, tid: 1, h: 2, time: 3, from: 4, until: 9 };
    let expected = r#"{"t":5,"tid":1,"cb":"anchor","h":2,"time":3,"from":4,"until":9}"#;
    assert_eq!(line(&Content::Anchor(anchor)), expected);
    assert_eq!(line(&Content::End(9)), r#"{"t":9,"tid":1,"cb":"end"}"#);
}

#[test]
fn what_is_written_is_read() {
    for event in events() {
        let capture = read_lines(&[META, INIT, GROUP, &started(event)]).unwrap();
        let CallbackKind::Start { event: read, .. } = &capture.lines[2].what else { panic!("{event:?}") };
        // with marks around strings in the one case, and without in the other
        let text = |event: String| event.replace("\\\"", "");
        assert_eq!(text(format!("{read:?}")), text(format!("{event:?}")));
    }
}
