//! Captures and lines that the reader refuses, with the words and the line of the error.

use super::*;

/// Reads a capture whose fourth and last line is `line` and whose other lines are right, and returns the error.
fn error_at_4(line: &str) -> String {
    let error = read_lines(&[META, INIT, GROUP, line]).unwrap_err();
    error.strip_prefix("c.gz:4: ").unwrap_or_else(|| panic!("not at line 4: {error}")).to_owned()
}

#[test]
fn files_that_are_no_captures() {
    let error = |bytes: &[u8]| read_bytes(bytes).unwrap_err();
    assert_eq!(error(b""), "c.gz:1: the file is empty: a capture begins with a meta line");
    assert_eq!(error(&gzip("")), "c.gz:1: the file is empty: a capture begins with a meta line");
    let not_gzip = "c.gz:1: not a gzip file: captures are gzipped JSON lines";
    assert_eq!(error(b"PK\x03\x04"), not_gzip);
    assert_eq!(error(META.as_bytes()), format!("{not_gzip}; this one seems to be plain text, so gzip it first"));
    let no_call = "c.gz:1: no call after the meta line: nothing was recorded (did NCCL load the recording plugin?)";
    assert_eq!(error(&gzip(META)), no_call);
    let absent = read(Path::new("/nowhere/c.gz")).unwrap_err().to_string();
    assert!(absent.starts_with("/nowhere/c.gz: cannot be read: No such file"), "{absent}");
    let folder = read(Path::new("/")).unwrap_err().to_string();
    assert!(folder.starts_with("/: cannot be read: "), "{folder}");
}

#[test]
fn cut_off_and_damaged_gzip() {
    // The handles are random enough that gzip does not hold all of the text back to its last block: lines come out
    // before the cut.
    let mut text = format!("{META}\n{INIT}\n");
    let mut h: u64 = 1;
    for t in 0..4000 {
        h = h.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += &format!(
            "{{\"t\":{t},\"tid\":1,\"cb\":\"start\",\"ctx\":1,\"h\":{h},\"type\":\"Group\",\"parent\":0,\"rank\":0}}\n"
        );
    }
    let whole = gzip(&text);
    assert_eq!(read_bytes(&whole).unwrap().lines.len(), 4001);
    for cut in [whole.len() / 2, whole.len() - 8, whole.len() - 1, 1, 5] {
        let error = read_bytes(&whole[..cut]).unwrap_err();
        let (place, after) = error.split_once(": the gzip data ends too early, after line ").unwrap();
        let line: u32 = place.strip_prefix("c.gz:").unwrap().parse().unwrap();
        let after: u32 =
            after.strip_suffix(": the file was cut off, copy or record it again").unwrap().parse().unwrap();
        assert_eq!(line, after.max(1));
        assert!(cut < whole.len() / 2 || after > 100, "{error}");
    }
    let mut checksum = whole.clone();
    let place = checksum.len() - 8;
    checksum[place] ^= 1;
    let error = read_bytes(&checksum).unwrap_err();
    assert!(error.starts_with("c.gz:4002: the gzip data is damaged after line 4002 ("), "{error}");
    let mut garbage = whole;
    garbage.extend(b"garbage after the end");
    let error = read_bytes(&garbage).unwrap_err();
    assert!(error.starts_with("c.gz:4002: the gzip data is damaged after line 4002 ("), "{error}");
}

#[test]
fn the_first_line_must_be_a_meta_line_of_this_format() {
    let error = |first: &str| read_lines(&[first, INIT]).unwrap_err();
    let no_meta = "c.gz:1: the first line must be the meta line ({\"cb\":\"meta\",\"format\":1,...})";
    assert_eq!(error(INIT), no_meta);
    assert_eq!(error("{}"), no_meta);
    let other = META.replace("\"format\":1", "\"format\":2");
    assert_eq!(error(&other), "c.gz:1: format 2 is not known, this tool reads format 1");
    assert_eq!(error(&META.replace("format", "formal")), "c.gz:1: field \"format\" is missing");
    for field in ["api", "mask", "pid", "real0", "mono0", "dropped"] {
        let missing = META.replace(&format!("\"{field}\""), "\"other\"");
        assert_eq!(error(&missing), format!("c.gz:1: field \"{field}\" is missing"));
    }
    let again = "a second meta line: two captures in one file; keep each in a file of its own";
    assert_eq!(error_at_4(META), again);
}

#[test]
fn lines_that_do_not_parse() {
    let json = |line: &str| {
        let error = error_at_4(line);
        error.strip_prefix("no JSON object of a capture: ").unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    assert_eq!(json(""), "it does not begin with a brace (column 1)");
    assert_eq!(json("[1,2]"), "it does not begin with a brace (column 1)");
    assert_eq!(json("{\"t\":1,"), "EOF while parsing a value (column 7)");
    assert_eq!(json("{\"t\":1}}"), "trailing characters (column 8)");
    assert_eq!(json("{\"t\":1,\"t\":2}"), "duplicate field `t` (column 10)");
    let whole = "expected a whole number of at most 64 bits";
    assert!(json("{\"t\":1.5}").contains(whole));
    assert!(json("{\"t\":\"1\"}").contains(whole));
    assert!(json("{\"t\":18446744073709551616}").contains(whole));
    assert!(json("{\"cb\":5}").contains("expected a string"));
    assert!(json(&start("-1", "")).contains("expected the name or the number of an event type"));
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(
        error_at_4(&long),
        "the line is longer than 1048576 bytes: no recorder writes such lines, copy or record the file again"
    );
}

#[test]
fn unknown_callbacks_types_and_states() {
    // a newer recorder's line has a word, a time and a thread, and names only known handles and contexts
    let escape = error_at_4(r#"{"t":3,"tid":1,"cb":"\u001b]0;x\u0007"}"#);
    assert!(escape.starts_with(r#"callback "\u{1b}]0;x\u{7}" is not known"#), "{escape}");
    let callback =
        |cb: &str| format!("callback \"{cb}\" is not known (known: init, start, state, stop, finalize, kernel)");
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"pause","h":9}"#), callback("pause"));
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"pause","ctx":9}"#), callback("pause"));
    assert_eq!(error_at_4(r#"{"tid":1,"cb":"pause","h":1}"#), callback("pause"));
    assert_eq!(error_at_4(r#"{"t":3,"tid":0,"cb":"pause","h":1}"#), callback("pause"));
    for cb in ["", "Start", "pa use", "st\u{fffd}p", "stop1"] {
        assert_eq!(error_at_4(&format!(r#"{{"t":3,"tid":1,"cb":"{cb}","h":1}}"#)), callback(cb));
    }
    let error = error_at_4(&start("\"Colt\"", ""));
    assert!(error.starts_with("event type \"Colt\" is not known (known: Group, Coll, "), "{error}");
    assert!(error.ends_with("KernelPhase; a newer type can be given by its number)"), "{error}");
    for name in ["", "+1", "-1", "0x", "0x+1", "1.0", "coll"] {
        assert!(error_at_4(&start(&format!("\"{name}\""), "")).starts_with("event type "), "{name}");
    }
    let state = |state: &str| error_at_4(&format!(r#"{{"t":3,"tid":1,"cb":"state","h":1,"state":{state}}}"#));
    assert_eq!(state("-1"), "field \"state\" is -1, which is not within 0 to 4294967295");
}

#[test]
fn kernels_that_end_before_they_begin_or_begin_outside_of_their_events() {
    let kernel = |fields: &str| error_at_4(&format!(r#"{{"t":3,"tid":1,"cb":"kernel","h":1,{fields}}}"#));
    assert_eq!(kernel(r#""first":9,"last":8"#), "a kernel between events at 9 and 8 cannot be");
    for begin in [8, 21] {
        let error = kernel(&format!(r#""first":9,"last":20,"begin":{begin}"#));
        assert_eq!(error, format!("a kernel between events at 9 and 20 that begins at {begin} cannot be"));
    }
}

#[test]
fn handles_and_contexts_that_were_never_given_out() {
    let never = |field: &str| format!("handle 9 in field \"{field}\" was never started before this line");
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"state","h":9,"state":1}"#), never("h"));
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"stop","h":9}"#), never("h"));
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"kernel","h":9,"first":1,"last":2}"#), never("h"));
    assert_eq!(error_at_4(&start("\"Group\"", "").replace("\"parent\":1", "\"parent\":9")), never("parent"));
    let itself = start("\"Group\"", "").replace("\"parent\":1", "\"parent\":2");
    assert_eq!(error_at_4(&itself), "handle 2 in field \"parent\" was never started before this line");
    assert_eq!(error_at_4(GROUP), "handle 1 is started a second time, it was started on line 3 already");
    let null = start("\"Group\"", "").replace("\"h\":2", "\"h\":0");
    assert_eq!(error_at_4(&null), "handle 0 stands for no event and cannot be started");
    let context = "context 2 was never initialised before this line";
    assert_eq!(error_at_4(&start("\"Group\"", "").replace("\"ctx\":1", "\"ctx\":2")), context);
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"finalize","ctx":2}"#), context);
    assert_eq!(error_at_4(INIT), "context 1 is initialised a second time, it was initialised on line 2 already");
}

#[test]
fn missing_fields_and_numbers_out_of_range() {
    assert_eq!(error_at_4("{}"), "field \"cb\" is missing");
    assert_eq!(error_at_4(r#"{"tid":1,"cb":"stop","h":1}"#), "field \"t\" is missing");
    assert_eq!(error_at_4(r#"{"t":3,"cb":"stop","h":1}"#), "field \"tid\" is missing");
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"stop"}"#), "field \"h\" is missing");
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"stop","h":null}"#), "field \"h\" is missing");
    assert_eq!(error_at_4(&start("\"Group\"", "").replace("\"type\"", "\"typo\"")), "field \"type\" is missing");
    assert_eq!(error_at_4(&start("\"KernelCh\"", ",\"ch\":1")), "field \"ptimer\" is missing");
    assert_eq!(error_at_4(&start("64", ",\"ptimer\":1")), "field \"ch\" is missing");
    assert_eq!(error_at_4(r#"{"t":3,"tid":1,"cb":"kernel","h":1,"first":1}"#), "field \"last\" is missing");
    assert_eq!(error_at_4(&start("\"KernelLaunch\"", "")), "field \"stream\" is missing");
    let tid = error_at_4(r#"{"t":3,"tid":0,"cb":"stop","h":1}"#);
    assert_eq!(tid, "field \"tid\" is 0, which is not within 1 to 4294967295");
    let channel = error_at_4(&start("\"KernelCh\"", ",\"ch\":256,\"ptimer\":1"));
    assert_eq!(channel, "field \"ch\" is 256, which is not within 0 to 255");
    let peer = error_at_4(&start("\"P2p\"", ",\"count\":1,\"nch\":1,\"peer\":2147483648"));
    assert_eq!(peer, "field \"peer\" is 2147483648, which is not within -2147483648 to 2147483647");
    let arg = error_at_4(r#"{"t":3,"tid":1,"cb":"state","h":1,"state":9,"arg":-1}"#);
    assert_eq!(arg, "field \"arg\" is -1, which is not within 0 to 18446744073709551615");
    for stream in ["", "0xff", "+1", "11112222333344445"] {
        let error = error_at_4(&start("\"KernelLaunch\"", &format!(",\"stream\":\"{stream}\"")));
        let expected =
            format!("field \"stream\" is \"{stream}\", which is not a hexadecimal number of at most 64 bits");
        assert_eq!(error, expected);
    }
    let nul = start("\"P2p\"", ",\"func\":\"a\\u0000b\",\"count\":1,\"nch\":1,\"peer\":0");
    assert_eq!(error_at_4(&nul), "field \"func\" holds a NUL character, which NCCL's strings cannot");
}
