//! Finds Score-P's headers and, where they are, lets bindgen read the plugin interfaces from them.
//!
//! `SCOREP_PREFIX` names an installation; otherwise a `scorep-config` on `PATH` is asked. With headers and libclang,
//! the declarations are written to `OUT_DIR/scorep.rs`, and `cfg(scorep_headers)` is set. Without them the crate uses
//! the plain form, `src/sys/plain.rs`, which has the same declarations: no build needs Score-P.

use std::any::Any;
use std::env;
use std::error::Error;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use bindgen::callbacks::{EnumVariantValue, ItemInfo, ParseCallbacks};
use bindgen::{EnumVariation, Formatter, RustEdition};

/// The headers that Score-P's include directories have.
const HEADERS: [&str; 2] = ["scorep/SCOREP_MetricPlugins.h", "scorep/SCOREP_SubstratePlugins.h"];

/// The types whose names [`PREFIXES`] do not give, with their names here. bindgen adds the types that they mention.
const TYPES: [(&str, &str); 10] = [
    ("SCOREP_Metric_Plugin_Info", "MetricPluginInfo"),
    ("SCOREP_Metric_Plugin_MetricProperties", "MetricProperties"),
    ("SCOREP_MetricTimeValuePair", "TimeValuePair"),
    ("SCOREP_MetricSynchronizationMode", "SynchronizationMode"),
    ("SCOREP_Substrates_Mode", "SubstrateMode"),
    ("SCOREP_Substrates_RequirementFlag", "SubstrateRequirement"),
    ("SCOREP_Substrates_EventType", "SubstrateEvent"),
    ("SCOREP_Substrates_Callback", "SubstrateEventFunction"),
    ("SCOREP_Substrates_ProgramEndCb", "ProgramEndFunction"),
    ("SCOREP_Ipc_Datatype", "IpcDatatype"),
];

/// The types that have Score-P's name without the prefix.
const SAME_NAME: &str =
    "SCOREP_(Metric|Location|Region|Paradigm|SamplingSet)[A-Za-z]*|SCOREP_SubstratePlugin(Info|Callbacks)";

/// The constants that are macros.
const MACROS: &str = "SCOREP_(METRIC|SUBSTRATE)_PLUGIN_VERSION|SCOREP_INVALID_(METRIC|SOURCE_FILE|LINE_NO)";

/// Constants and types lose the first of these that they begin with.
const PREFIXES: [&str; 3] = ["SCOREP_METRIC_", "SCOREP_SUBSTRATES_", "SCOREP_"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rustc-check-cfg=cfg(scorep_headers)");
    // Both hosts close the library while a thread of it may still run: it has to stay mapped.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");

    let include = match include_directories() {
        Ok(Some(include)) => include,
        Ok(None) => return Ok(()),
        Err(message) => {
            // Fails the build without cargo's dump of this program's output around it.
            println!("cargo::error={message}");
            return Ok(());
        }
    };

    println!("cargo::rerun-if-env-changed=LIBCLANG_PATH");
    println!("cargo::rerun-if-env-changed=LLVM_CONFIG_PATH");
    match declarations(&include) {
        Ok(text) => {
            let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: this is run by cargo only")?;
            std::fs::write(Path::new(&out).join("scorep.rs"), text)?;
            println!("cargo::rustc-cfg=scorep_headers");
        }
        Err(reason) => go_on_without(&reason),
    }
    Ok(())
}

/// Returns the include directories of Score-P; `None` where there is no Score-P.
///
/// # Errors
///
/// A message for the user, if `SCOREP_PREFIX` names a directory without the headers.
fn include_directories() -> Result<Option<Vec<PathBuf>>, String> {
    println!("cargo::rerun-if-env-changed=SCOREP_PREFIX");
    if let Some(prefix) = env::var_os("SCOREP_PREFIX").filter(|prefix| !prefix.is_empty()) {
        let include = Path::new(&prefix).join("include");
        let Some(missing) = HEADERS.iter().find(|header| !include.join(header).is_file()) else {
            return Ok(Some(vec![include]));
        };
        return Err(format!(
            "SCOREP_PREFIX is set, but there is no {}: set it to what `scorep-config --prefix` \
             prints, or unset it to build without Score-P's headers",
            include.join(missing).display()
        ));
    }

    // A change of PATH does not run this again: rustup's cargo changes it, and all crates that depend on this one would
    // be built anew for the same declarations.
    let flags = match Command::new("scorep-config").arg("--cppflags").output() {
        Ok(output) if output.status.success() => output.stdout,
        Ok(output) => {
            warn(&format!(
                "`scorep-config --cppflags` failed ({}): built without Score-P's headers; \
                 SCOREP_PREFIX can name the installation instead",
                output.status
            ));
            return Ok(None);
        }
        Err(error) => {
            if error.kind() != ErrorKind::NotFound {
                warn(&format!("scorep-config cannot be run ({error}): built without Score-P's headers"));
            }
            return Ok(None);
        }
    };

    let flags = String::from_utf8_lossy(&flags);
    let include = include_flags(&flags);
    let is_there = |header: &&str| include.iter().any(|directory| directory.join(header).is_file());
    let Some(missing) = HEADERS.iter().find(|header| !is_there(header)) else {
        return Ok(Some(include));
    };
    warn(&format!(
        "no {missing} in the directories that `scorep-config --cppflags` prints ({}): \
         built without Score-P's headers; SCOREP_PREFIX can name the installation instead",
        flags.trim()
    ));
    Ok(None)
}

/// Returns the directories of all `-I` flags. The flags have no quotes, so a directory has no blanks in its name.
fn include_flags(flags: &str) -> Vec<PathBuf> {
    let directories = flags.split_whitespace().filter_map(|flag| flag.strip_prefix("-I"));
    directories.filter(|directory| !directory.is_empty()).map(PathBuf::from).collect()
}

/// Generates the declarations from the headers: types and constants, no functions, none of the headers' comments. C's
/// `FILE` is libc's.
///
/// # Errors
///
/// The reason, in words. bindgen panics where libclang cannot be loaded; that is an error, too.
fn declarations(include: &[PathBuf]) -> Result<String, String> {
    let types = TYPES.map(|(theirs, _)| theirs).join("|");
    let builder = bindgen::builder()
        .header_contents("scorep_interface.h", &HEADERS.map(|header| format!("#include <{header}>\n")).concat())
        .clang_args(include.iter().map(|directory| format!("-I{}", directory.display())))
        .allowlist_type(types)
        .allowlist_type(SAME_NAME)
        .allowlist_var(MACROS)
        .blocklist_type("FILE|_IO_.*|__off(64)?_t")
        .raw_line("use libc::FILE;")
        // An integer can hold a number that a newer Score-P adds; a Rust enum could not.
        .default_enum_style(EnumVariation::Consts)
        .prepend_enum_name(false)
        .rust_edition(RustEdition::Edition2024)
        .use_core()
        .generate_comments(false)
        .formatter(Formatter::None)
        .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
        .parse_callbacks(Box::new(Names));

    // Unwind safety: the builder is consumed, so nothing half done is seen afterwards.
    match catch_unwind(AssertUnwindSafe(|| builder.generate())) {
        Ok(Ok(bindings)) => Ok(bindings.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(payload) => Err(panic_message(payload.as_ref())),
    }
}

/// Gives the declarations the names that the plain form has.
#[derive(Debug)]
struct Names;

impl Names {
    fn without_prefix(theirs: &str) -> Option<String> {
        PREFIXES.iter().find_map(|prefix| theirs.strip_prefix(prefix)).map(str::to_owned)
    }
}

impl ParseCallbacks for Names {
    fn item_name(&self, item: ItemInfo<'_>) -> Option<String> {
        let known = TYPES.iter().find(|(theirs, _)| *theirs == item.name);
        known.map(|(_, ours)| (*ours).to_owned()).or_else(|| Self::without_prefix(item.name))
    }

    fn enum_variant_name(&self, _: Option<&str>, theirs: &str, _: EnumVariantValue) -> Option<String> {
        Self::without_prefix(theirs)
    }
}

/// Warns that the headers cannot be read, and has cargo run this again after an installation of libraries.
fn go_on_without(reason: &str) {
    warn(&format!(
        "Score-P's headers were found, but bindgen could not read them: {}. Built with the \
         declarations kept in this crate instead. bindgen needs libclang and clang's own headers \
         (Debian: libclang-dev, Fedora: clang-devel; LIBCLANG_PATH names the directory of a \
         libclang elsewhere)",
        reason.trim()
    ));
    // Rewritten when a package brings a library. (A missing file would run this on every build.)
    let loader_cache = Path::new("/etc/ld.so.cache");
    if loader_cache.exists() {
        println!("cargo::rerun-if-changed={}", loader_cache.display());
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given").to_owned()
}

/// A warning takes one line.
fn warn(message: &str) {
    let words: Vec<&str> = message.split_whitespace().collect();
    println!("cargo::warning={}", words.join(" "));
}
