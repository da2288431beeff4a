//! The tables of the tuner interface lie where a C compiler lays them: those of the host's own declarations, and those
//! of NCCL's headers where `NCCL_TUNER_HEADERS` names a directory of them (tuner_v2.h and so on).

use crate::{SPOKEN, host, tool};
use nccl_plugin::tuner::interface::{ChooseV3, ChooseV4, InitV2, InitV5, TunerTable, TunerTableV6};
use std::ffi::c_void;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicPtr;

/// Returns the lines `version.member offset size` of one version.
fn lines(version: u32) -> String {
    type Last = TunerTableV6<AtomicPtr<c_void>>;
    let of = |name: [usize; 2], init: [usize; 2], choose: [usize; 2], finalize: [usize; 2]| {
        [("name", name), ("init", init), ("choose", choose), ("finalize", finalize)]
    };
    macro_rules! members {
        ($table:ty) => {{
            fn size<S, T>(_: fn(&S) -> &T) -> usize {
                size_of::<T>()
            }
            (
                of(
                    [offset_of!($table, name), size(|of: &$table| &of.name)],
                    [offset_of!($table, init), size(|of: &$table| &of.init)],
                    [offset_of!($table, choose), size(|of: &$table| &of.choose)],
                    [offset_of!($table, finalize), size(|of: &$table| &of.finalize)],
                ),
                size_of::<$table>(),
            )
        }};
    }
    let (members, whole) = match version {
        3 => members!(TunerTable<InitV2, ChooseV3>),
        4 => members!(TunerTable<InitV2, ChooseV4>),
        _ => members!(TunerTable<InitV5, ChooseV4>),
    };
    let mut text = String::new();
    members.iter().for_each(|(name, [at, size])| writeln!(text, "v{version}.{name} {at} {size}").unwrap());
    let whole = if version == 6 {
        assert_eq!(offset_of!(Last, base), 0);
        writeln!(text, "v6.chunk {} {}", offset_of!(Last, choose_chunk), size_of::<AtomicPtr<c_void>>()).unwrap();
        size_of::<Last>()
    } else {
        whole
    };
    writeln!(text, "v{version} 0 {whole}").unwrap();
    text
}

#[test]
fn tables_lie_as_our_own_declarations_in_c() {
    for version in SPOKEN {
        assert_eq!(lines(version), tool::succeed(&mut host(version, "layout")));
    }
}

/// What NCCL's headers need of the rest of NCCL.
const NEEDED: &str = "\
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef enum { ncclSuccess = 0 } ncclResult_t;
typedef enum { ncclNumFuncs = 15 } ncclFunc_t;
typedef void (*ncclDebugLogger_t)(int, unsigned long, const char *, int, const char *, ...);
";

/// The types of the functions in NCCL's words, by version and member.
const FUNCTIONS: [(&str, &str, &str); 9] = [
    ("2 3 4", "init", "size_t, size_t, ncclDebugLogger_t, void **"),
    ("2", "getCollInfo", "void *, ncclFunc_t, size_t, int, int, int, int *, int *, int *"),
    ("3", "getCollInfo", "void *, ncclFunc_t, size_t, int, float **, int, int, int *"),
    ("4 5 6", "getCollInfo", "void *, ncclFunc_t, size_t, int, float **, int, int, int, int *"),
    ("2 3 4", "destroy", "void *"),
    (
        "5",
        "init",
        "void **, uint64_t, size_t, size_t, ncclDebugLogger_t, ncclNvlDomainInfo_v5_t *, ncclTunerConstants_v5_t *",
    ),
    (
        "6",
        "init",
        "void **, uint64_t, size_t, size_t, ncclDebugLogger_t, ncclNvlDomainInfo_v6_t *, ncclTunerConstants_v6_t *",
    ),
    ("5 6", "finalize", "void *"),
    ("6", "getChunkSize", "void *, ncclFunc_t, size_t, int, int, int, size_t *"),
];

#[test]
fn tables_lie_as_in_nccls_headers() {
    let Some(directory) = std::env::var_os("NCCL_TUNER_HEADERS") else {
        return tool::leave_out("NCCL_TUNER_HEADERS names no directory of NCCL's headers");
    };
    let directory = Path::new(&directory);
    let versions: Vec<u32> =
        (2..=6).filter(|version| directory.join(format!("tuner_v{version}.h")).is_file()).collect();
    assert!(versions.contains(&3), "{}: there is no tuner_v3.h", directory.display());
    let mut source = String::from(NEEDED);
    versions.iter().for_each(|version| writeln!(source, "#include \"tuner_v{version}.h\"").unwrap());
    source += "int main(void) {\n";
    for version in &versions {
        let table = format!("ncclTuner_v{version}_t");
        for (_, member, arguments) in
            FUNCTIONS.iter().filter(|(of, ..)| of.split(' ').any(|of| of == version.to_string()))
        {
            let right = format!(
                "__builtin_types_compatible_p(__typeof__((({table} *)0)->{member}), ncclResult_t (*)({arguments}))"
            );
            writeln!(source, "_Static_assert({right}, \"{member} of v{version}\");").unwrap();
        }
        let last = if *version < 5 { "destroy" } else { "finalize" };
        let chunk = if *version == 6 { vec![("chunk", "getChunkSize")] } else { vec![] };
        let all = [("name", "name"), ("init", "init"), ("choose", "getCollInfo"), ("finalize", last)];
        for (ours, theirs) in all.into_iter().chain(chunk) {
            let size = format!("sizeof((({table} *)0)->{theirs})");
            writeln!(source, "printf(\"v{version}.{ours} %zu %zu\\n\", offsetof({table}, {theirs}), {size});").unwrap();
        }
        writeln!(source, "printf(\"v{version} 0 %zu\\n\", sizeof({table}));").unwrap();
    }
    source += "return 0;\n}\n";
    let place = tempfile::tempdir().unwrap();
    let (file, program) = (place.path().join("probe.c"), place.path().join("probe"));
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Werror", "-I"]).arg(directory).arg(&file).arg("-o").arg(&program);
    tool::succeed(&mut compiler);
    let printed = tool::succeed(&mut Command::new(program));
    let spoken = versions.iter().filter(|version| SPOKEN.contains(version));
    let ours: String = spoken.map(|version| lines(*version)).collect();
    let theirs =
        printed.lines().filter(|line| !line.starts_with("v2")).fold(String::new(), |all, line| all + line + "\n");
    assert_eq!(ours, theirs);
    println!("compared versions {versions:?}");
}
