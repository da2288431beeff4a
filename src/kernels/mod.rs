//! Kernels of the computation, from traces of PyTorch's profiler (Kineto's JSON).

mod kineto;

use crate::archive::spans::{is_nccl, unite};
use report::job::{Kernels, Process, Unreadable};
use std::path::{Path, PathBuf};

/// Reads traces, one or more for each process. Returns the kernels, and why traces were left out.
pub(crate) fn read(files: &[PathBuf], processes: &[Process]) -> (Kernels, Vec<Unreadable>) {
    let mut kernels = Kernels { by_process: vec![Vec::new(); processes.len()] };
    let mut problems = Vec::new();
    for (number, file) in files.iter().enumerate() {
        match one(file, number, files.len(), processes) {
            Ok((place, spans)) => kernels.by_process.get_mut(place).into_iter().for_each(|own| own.extend(&spans)),
            Err(problem) => problems.push(problem),
        }
    }
    kernels.by_process.iter_mut().for_each(unite);
    (kernels, problems)
}

/// Reads one trace. Returns the process that it is of, and its kernels on that process' clock.
fn one(file: &Path, number: usize, traces: usize, processes: &[Process]) -> Result<(usize, Vec<[u64; 2]>), Unreadable> {
    let wrong = |cause: String| Unreadable { file: file.display().to_string(), place: None, cause };
    let trace = kineto::read(file, |name| !is_nccl(name)).map_err(wrong)?;
    let place = match trace.rank {
        Some(rank) => processes
            .iter()
            .position(|process| process.rank == Some(rank))
            .ok_or_else(|| wrong(format!("no process of the job has rank {rank}")))?,
        None if traces == processes.len() => in_order(processes).get(number).copied().unwrap_or(number),
        None => {
            return Err(wrong(format!(
                "the trace names no rank (distributedInfo), and {traces} traces are not one for each of {} processes: \
                 name one trace for each process, in the order of ranks",
                processes.len()
            )));
        }
    };
    let Some(process) = processes.get(place).filter(|process| process.real0 > 0) else {
        let process = processes.get(place).map(|process| process.file.clone()).unwrap_or_default();
        return Err(wrong(format!(
            "{process} does not say the time of day, so its kernels have no place on its clock"
        )));
    };
    let shown = |day: i128| {
        // a damaged trace may have any times
        let own = day.saturating_sub(process.real0.into()).saturating_add(process.mono0.into());
        u64::try_from(own.max(0)).unwrap_or(u64::MAX)
    };
    Ok((place, trace.spans.iter().map(|span| span.map(shown)).collect()))
}

/// Returns the places of the processes in the order of their ranks.
fn in_order(processes: &[Process]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..processes.len()).collect();
    places.sort_by_key(|&place| processes.get(place).and_then(|process| process.rank));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(rank: u32) -> Process {
        Process { rank: Some(rank), real0: 1_700_000_000_000_000_000, mono0: 5_000_000_000, ..Process::default() }
    }

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("trace.json");
        std::fs::write(&file, text).unwrap();
        (directory, file)
    }

    const EVENTS: &str = r#"[
        {"ph":"X","cat":"kernel","name":"gemm","ts":1.5,"dur":2,"args":{"device":0}},
        {"ph":"X","cat":"kernel","name":"gemm","ts":3.5,"dur":1},
        {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","ts":9,"dur":100},
        {"ph":"X","cat":"cpu_op","name":"aten::mm","ts":0,"dur":1000},
        {"ph":"M","name":"process_name","args":{"name":"python"}},
        {"ph":"X","cat":"kernel","name":"cut off","ts":30,"dur":null},
        {"ph":"X","cat":"gpu_memset","name":"Memset","ts":20,"dur":0.5}]"#;

    #[test]
    fn kernels_are_on_the_clock_of_their_process() {
        let text = format!(
            r#"{{"schemaVersion":1,"distributedInfo":{{"rank":3}},"traceEvents":{EVENTS},"baseTimeNanoseconds":1700000000000001000}}"#
        );
        let (_directory, file) = written(&text);
        let (kernels, problems) = read(&[file], &[process(2), process(3)]);
        assert!(problems.is_empty(), "{problems:?}");
        // 1 us behind `real0`; touching kernels are one interval
        assert_eq!(kernels.by_process, [vec![], vec![[5_000_002_500, 5_000_005_500]]]);
    }

    #[test]
    fn times_beyond_all_clocks_overflow_nothing() {
        let event = r#"{"cat":"kernel","name":"gemm","ts":-1e300,"dur":1e301}"#;
        let (_directory, file) =
            written(&format!(r#"{{"traceEvents":[{event}],"baseTimeNanoseconds":18446744073709551615}}"#));
        let (kernels, problems) = read(&[file], &[process(0)]);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(kernels.by_process, [vec![[0, u64::MAX]]]);
    }

    #[test]
    fn traces_without_a_place_are_refused() {
        let (_directory, file) = written(&format!(r#"{{"traceEvents":{EVENTS}}}"#));
        let refused = |processes: &[Process]| read(std::slice::from_ref(&file), processes).1.remove(0).to_string();
        let text = refused(&[process(0), process(1)]);
        assert!(text.contains("names no rank") && text.contains("1 traces"), "{text}");
        assert!(refused(&[Process::default()]).contains("does not say the time of day"));
        let (_directory, foreign) = written(&format!(r#"{{"distributedInfo":{{"rank":9}},"traceEvents":{EVENTS}}}"#));
        assert!(read(&[foreign], &[process(0)]).1.remove(0).to_string().contains("no process of the job has rank 9"));
        let (_directory, broken) = written(r#"{"traceEvents":[{"ph":"X",]}"#);
        let text = read(&[broken], &[process(0)]).1.remove(0).to_string();
        assert!(text.contains("trace.json") && text.contains("line 1 column"), "{text}");
    }
}
