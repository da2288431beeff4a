//! Checks of the program that a job starts: whether the Score-P that it was linked with knows NCCL's threads.

use super::finding::{Code, DoctorFinding};
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Endianness, ReadCache};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Beginnings of the names of Score-P's libraries. An instrumented program is linked with those for what Score-P
/// watches in it.
const SCORE_P: &str = "libscorep_measurement.";
const PTHREAD: &str = "libscorep_thread_create_wait_pthread.";
const WATCHES: [(&str, &str); 2] = [("libscorep_mpp_mpi.", "MPI"), ("libscorep_adapter_cuda", "CUDA")];
/// Cure for a program without Score-P's support of POSIX threads.
const CURE: &str = "instrument the program with `scorep --thread=pthread`, MPI and CUDA as before";

/// Returns the finding on the programs that a job starts, or a general one where no program is named.
pub(super) fn check(programs: &[PathBuf]) -> Option<DoctorFinding> {
    if programs.is_empty() {
        let what = "a program that Score-P watches with MPI or CUDA, and without POSIX threads, aborts when it uses NCCL, whatever plugin is \
                    loaded (`scorep-nccl doctor -- PROGRAM` looks at one)";
        return Some(DoctorFinding::new(Code::ScorePThreadModel, what, CURE));
    }
    programs.iter().find_map(|program| threads(program))
}

/// Checks whether Score-P would take events of NCCL's threads for events of the main thread. It would abort then,
/// because their times fall.
fn threads(program: &Path) -> Option<DoctorFinding> {
    let needed = needed(program)?;
    let has = |library: &str| needed.iter().any(|name| name.starts_with(library));
    let (_, watched) = WATCHES.iter().find(|(library, _)| has(library))?;
    if !has(SCORE_P) || has(PTHREAD) {
        return None;
    }
    let what = format!(
        "{} is instrumented with {watched} and without --thread=pthread: NCCL's threads call what Score-P watches, and Score-P takes that for \
         the main thread's and aborts",
        program.display()
    );
    Some(DoctorFinding::new(Code::ScorePThreads, what, CURE))
}

/// Returns the libraries that a program was linked with.
fn needed(program: &Path) -> Option<Vec<String>> {
    let file = ReadCache::new(File::open(program).ok()?);
    let elf = ElfFile64::<Endianness, _>::parse(&file).ok()?;
    let (endian, data) = (elf.endian(), elf.data());
    let sections = elf.elf_header().sections(endian, data).ok()?;
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let needed = entries.iter().filter(|entry| entry.tag32(endian) == Some(object::elf::DT_NEEDED));
    let name = |entry: &object::elf::Dyn64<Endianness>| strings.get(u32::try_from(entry.d_val(endian)).ok()?).ok();
    Some(needed.filter_map(|entry| Some(String::from_utf8_lossy(name(entry)?).into_owned())).collect())
}
