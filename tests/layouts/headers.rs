//! NCCL's own headers: read for the names of all members, and compiled into a program that prints where they lie.

use super::{Lines, printed_by};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// NCCL's names of structures and members, and ours.
const NAMES: &[(&str, &str)] = &[
    ("algo", "algorithm"),
    ("appendedProxyOps", "operations"),
    ("batchSize", "batch_size"),
    ("buff", "buffer"),
    ("ceColl", "ce_coll"),
    ("ceCollBatch", "ce_batch"),
    ("ceCollSync", "ce_sync"),
    ("ceSeqNum", "ce_sequence"),
    ("channelId", "channel"),
    ("chunkSize", "chunk"),
    ("coll", "coll"),
    ("collApi", "coll_api"),
    ("commHash", "communicator"),
    ("count", "count"),
    ("data", "data"),
    ("datatype", "datatype"),
    ("finalize", "finalize"),
    ("func", "function"),
    ("graphCaptured", "captured"),
    ("groupApi", "group_api"),
    ("groupDepth", "depth"),
    ("id", "id"),
    ("init", "init"),
    ("intraBatchSync", "intra_batch_sync"),
    ("isCollnet", "collnet"),
    ("isComplete", "complete"),
    ("isNvls", "nvls"),
    ("isSend", "send"),
    ("isSymColl", "symmetric"),
    ("kernelCh", "kernel_ch"),
    ("kernelLaunch", "kernel_launch"),
    ("kernelPhase", "kernel_phase"),
    ("kernelVariant", "variant"),
    ("nChannels", "channels"),
    ("nMaxChannels", "channels"),
    ("nRanks", "ranks"),
    ("nSteps", "steps"),
    ("nWarps", "warps"),
    ("name", "name"),
    ("netPlugin", "net_plugin"),
    ("numBatches", "batches"),
    ("numOps", "operations"),
    ("op", "reduction"),
    ("p2p", "p2p"),
    ("p2pApi", "p2p_api"),
    ("pTimer", "ptimer"),
    ("parentGroup", "group"),
    ("parentObj", "parent"),
    ("peer", "peer"),
    ("phaseId", "phase"),
    ("phaseName", "name"),
    ("pid", "pid"),
    ("proto", "protocol"),
    ("proxyCtrl", "proxy_ctrl"),
    ("proxyOp", "proxy_op"),
    ("proxyStep", "proxy_step"),
    ("rank", "rank"),
    ("recordEventState", "record_event_state"),
    ("recvBuff", "receive"),
    ("root", "root"),
    ("sendBuff", "send"),
    ("seqNumber", "sequence"),
    ("startEvent", "start_event"),
    ("step", "step"),
    ("steps", "steps"),
    ("stopEvent", "stop_event"),
    ("stream", "stream"),
    ("syncStrategy", "strategy"),
    ("totalBytes", "bytes"),
    ("trafficBytes", "traffic"),
    ("transSize", "size"),
    ("type", "kind"),
    ("useIntraSync", "intra_sync"),
    ("userTag", "tag"),
];

/// What the headers need of the rest of NCCL.
const NEEDED: &str = "\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
typedef pid_t ncclPid_t;
typedef enum { ncclSuccess = 0 } ncclResult_t;
typedef void (*ncclDebugLogger_t)(int, unsigned long, const char *, int, const char *, ...);
";

const VERSIONS: std::ops::RangeInclusive<u32> = 1..=7;

/// The versions that have a header in that directory, and where the members of their structures lie, under our names.
pub(crate) fn probe(directory: &Path) -> (Vec<u32>, Lines) {
    let header = |version: &u32| directory.join(format!("profiler_v{version}.h"));
    let versions: Vec<u32> = VERSIONS.filter(|version| header(version).is_file()).collect();
    assert!(!versions.is_empty(), "{}: there is no profiler_v1.h, nor of any other version", directory.display());
    let mut source = String::from(NEEDED);
    VERSIONS.for_each(|version| writeln!(source, "typedef int ncclProfilerEventState_v{version}_t;").unwrap());
    versions.iter().for_each(|version| writeln!(source, "#include \"profiler_v{version}.h\"").unwrap());
    let texts: String =
        versions.iter().map(|version| without_comments(&std::fs::read_to_string(header(version)).unwrap())).collect();
    source += "int main(void) {\n";
    for &version in &versions {
        write_version(version, &texts, &mut source);
    }
    source += "return 0;\n}\n";

    let place = tempfile::tempdir().unwrap();
    let (file, program) = (place.path().join("probe.c"), place.path().join("probe"));
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Werror", "-I"]).arg(directory).arg(&file).arg("-o").arg(&program);
    assert!(compiler.status().unwrap().success(), "NCCL's headers could not be compiled");
    (versions, printed_by(&program))
}

/// The statements that print one version, and the demand that its init has the arguments it should have.
fn write_version(version: u32, texts: &str, source: &mut String) {
    let structures = [("descriptor", "EventDescr"), ("arguments", "EventStateArgs"), ("table", "")];
    for (ours, theirs) in structures {
        let name = format!("ncclProfiler{theirs}_v{version}_t");
        for path in paths(body(texts, &name)) {
            let words: Vec<&str> = path.split('.').map(our_name).collect();
            // members of the descriptor's union stand for themselves, but for the three before it
            let line = if ours == "descriptor" && words.len() > 1 {
                words.join(".")
            } else {
                format!("{ours}.{}", words.join("."))
            };
            let size = format!("sizeof((({name} *)0)->{path})");
            writeln!(source, "printf(\"v{version}.{line} %zu %zu\\n\", offsetof({name}, {path}), {size});").unwrap();
        }
        writeln!(source, "printf(\"v{version}.{ours} 0 %zu\\n\", sizeof({name}));").unwrap();
    }
    let init = match version {
        1..=3 => "void **, int *",
        4 => "void **, int *, const char *, uint64_t, int, int, int, ncclDebugLogger_t",
        _ => "void **, uint64_t, int *, const char *, int, int, int, ncclDebugLogger_t",
    };
    let table = format!("ncclProfiler_v{version}_t");
    let right = format!("__builtin_types_compatible_p(__typeof__((({table} *)0)->init), ncclResult_t (*)({init}))");
    writeln!(source, "_Static_assert({right}, \"init of v{version}\");").unwrap();
}

fn our_name(theirs: &str) -> &str {
    let known = NAMES.iter().find(|(name, _)| *name == theirs);
    known.unwrap_or_else(|| panic!("NCCL's {theirs} has no counterpart")).1
}

fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        code.push_str(&rest[..at]);
        let end =
            if rest[at..].starts_with("/*") { rest[at..].find("*/").map(|end| end + 2) } else { rest[at..].find('\n') };
        rest = end.map_or("", |end| &rest[at + end..]);
    }
    code + rest
}

/// The text between the braces of the structure or union of that name, or of the one it is another name for.
fn body<'a>(texts: &'a str, name: &str) -> &'a str {
    let end = texts.match_indices(name).find(|&(at, _)| texts[at + name.len()..].trim_start().starts_with(';'));
    let before = texts[..end.unwrap_or_else(|| panic!("NCCL's headers have no {name}")).0].trim_end();
    let Some(inside) = before.strip_suffix('}') else {
        return body(texts, before.rsplit([' ', '\n']).next().unwrap());
    };
    let mut depth = 1;
    let open = inside.char_indices().rev().find(|&(_, letter)| {
        depth += i32::from(letter == '}') - i32::from(letter == '{');
        depth == 0
    });
    &inside[open.unwrap().0 + 1..]
}

/// The members of a structure, those of nested ones after a dot; of those without a name as if they were its own.
fn paths(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = body;
    while let Some(end) = rest.find([';', '{']) {
        let declaration = rest[..end].trim();
        if rest[end..].starts_with(';') {
            found.push(declared(declaration).to_owned());
            rest = &rest[end + 1..];
            continue;
        }
        let inside = &rest[end + 1..];
        let mut depth = 1;
        let close = inside.find(|letter| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            depth == 0
        });
        let (inside, after) = inside.split_at(close.unwrap());
        let (name, after) = after[1..].split_once(';').unwrap();
        let name = name.trim();
        found.extend(
            paths(inside).into_iter().map(|path| if name.is_empty() { path } else { format!("{name}.{path}") }),
        );
        rest = after;
    }
    found
}

/// The name in a declaration such as `const char* name` or `int (*name)(int)`.
fn declared(declaration: &str) -> &str {
    let named = declaration.split_once("(*").map_or(declaration, |(_, named)| named.split(')').next().unwrap());
    named.rsplit([' ', '*', '\n']).next().unwrap()
}

#[test]
fn members_are_found_in_headers_as_nccl_writes_them() {
    let text = "typedef struct {\n  uint8_t type; // a comment; with {\n  union {\n    struct {\n      const char* func;\n\
        void const* sendBuff; /* } */\n    } coll;\n  };\n} a_v1_t;\ntypedef a_v1_t a_v2_t;\ntypedef struct {\n  int (*init)(void** a,\n\
        int b);\n} b_v1_t;\n";
    let text = without_comments(text);
    assert_eq!(paths(body(&text, "a_v2_t")), ["type", "coll.func", "coll.sendBuff"]);
    assert_eq!(paths(body(&text, "b_v1_t")), ["init"]);
}
