//! Recordings of any length: one all-reduce after the other, on one GPU, one millisecond apart.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Clock of the process at the begin of the recording, nanoseconds.
pub(crate) const MONO0: u64 = 1_000_000_000;
/// Time from one operation to the next, nanoseconds.
pub(crate) const STEP: u64 = 1_000_000;

/// Returns how long the operation of this number takes on the GPU, nanoseconds.
pub(crate) fn length(number: u64) -> u64 {
    10_000 + number % 7 * 1000
}

/// Writes a recording of this many operations.
pub(crate) fn write(path: &Path, operations: u64) {
    let file = File::create(path).unwrap();
    let mut file = BufWriter::new(GzEncoder::new(file, Compression::fast()));
    writeln!(
        file,
        r#"{{"cb":"meta","format":1,"api":5,"mask":4095,"pid":7,"real0":1795151200000000000,"mono0":{MONO0},"dropped":0}}"#
    )
    .unwrap();
    writeln!(file, r#"{{"t":1,"tid":1,"cb":"init","ctx":1,"comm":"a1","name":"","nnodes":1,"nranks":2,"rank":0}}"#)
        .unwrap();
    for number in 0..operations {
        operation(&mut file, number);
    }
    let end = (operations + 1) * STEP;
    writeln!(file, r#"{{"t":{end},"tid":1,"cb":"finalize","ctx":1}}"#).unwrap();
    file.into_inner().unwrap().finish().unwrap();
}

/// Writes an operation as NCCL reports it: API call, launch, enqueue, and one kernel channel. The GPU's clock shows
/// what the process' clock shows; stamps are told 2 us late.
fn operation(file: &mut impl Write, number: u64) {
    let t = (number + 1) * STEP;
    let first = number * 6 + 1;
    let [group, call, launch, kernel, coll, channel] = std::array::from_fn(|event| first + event as u64);
    let start = |t: u64, h: u64, parent: u64, rest: &str| {
        format!(r#"{{"t":{t},"tid":1,"cb":"start","ctx":1,"h":{h},"parent":{parent},"rank":0,{rest}}}"#)
    };
    let stop = |t: u64, h: u64| format!(r#"{{"t":{t},"tid":1,"cb":"stop","h":{h}}}"#);
    let what = r#""func":"AllReduce","count":1024,"dtype":"ncclFloat32","root":0"#;
    let begin = MONO0 + t + 50_000;
    let end = begin + length(number);
    let at = end - MONO0 + 2000;
    let lines = [
        start(t, group, 0, r#""type":"GroupApi","depth":1,"graph":0"#),
        start(t + 1000, call, group, &format!(r#""type":"CollApi",{what},"stream":"0","graph":0"#)),
        stop(t + 2000, call),
        start(t + 3000, launch, group, r#""type":"KernelLaunch","stream":"0""#),
        stop(t + 4000, launch),
        start(t + 5000, kernel, 0, r#""type":"Group""#),
        start(
            t + 6000,
            coll,
            call,
            &format!(r#""type":"Coll","seq":{number},{what},"nch":1,"nwarps":4,"algo":"RING","proto":"LL""#),
        ),
        stop(t + 7000, coll),
        stop(t + 8000, kernel),
        stop(t + 9000, group),
        start(t + 52_000, channel, coll, &format!(r#""type":"KernelCh","ch":0,"ptimer":{begin}"#)),
        format!(r#"{{"t":{at},"tid":1,"cb":"state","h":{channel},"state":22,"arg":{end}}}"#),
        stop(at, channel),
    ];
    lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
}
