//! Compiles the C hosts of the tests and the libraries that they load (tests/c), and passes their paths to
//! the tests. A host whose header is not installed is left out.

use std::env;
use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

/// Name and source of a C program, the libraries that it links, and the header without which it cannot be compiled.
const HOSTS: [(&str, &str, &[&str], Option<&str>); 23] = [
    ("otf2_last_values", "tests/c/programs/otf2_last_values.c", &["-lotf2"], Some("/usr/include/otf2/otf2.h")),
    ("otf2_experiment", "tests/c/programs/otf2_experiment.c", &["-lotf2"], Some("/usr/include/otf2/otf2.h")),
    ("all_reduce_host", "tests/c/programs/all_reduce_host.c", &["-ldl", "-lpthread"], None),
    ("steps_host", "tests/c/programs/steps_host.c", &["-ldl", "-lpthread"], None),
    ("watched_host", "tests/c/programs/watched_host.c", &["-ldl", "-lpthread"], None),
    ("speed_host", "tests/c/programs/speed_host.c", &["-ldl"], None),
    ("stress_host", "tests/c/programs/stress_host.c", &["-ldl", "-lpthread"], None),
    ("profiler_layouts", "tests/c/programs/profiler_layouts.c", &[], None),
    ("conformance_host", "tests/c/nccl/nccl_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("surroundings_host", "tests/c/nccl/surroundings_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("scorep_host", "tests/c/score_p/scorep_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("gather_host", "tests/c/score_p/gather_host.c", &["-ldl", "-lpthread"], None),
    ("instructions_host", "tests/c/nccl/instructions_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("memory_host", "tests/c/nccl/memory_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("lasting_host", "tests/c/nccl/lasting_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("harm_host", "tests/c/harm/harm_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("export_host", "tests/c/nccl/export_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("fuzz_host", "tests/c/nccl/fuzz_host.c", &["-ldl", "-lpthread"], None),
    ("events_host", "tests/c/cuda/events_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("starved_host", "tests/c/nccl/starved_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("status_host", "tests/c/nccl/status_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    ("stack_host", "tests/c/nccl/stack_host.c", &["-ldl", "-lpthread", "-rdynamic"], None),
    // as a plain program; with Score-P it is compiled when the tests run
    ("replay_app", "tests/c/programs/replay_app.c", &["-ldl", "-lpthread"], None),
];

/// Versions of the profiler interface of the second plugin; each gives a shared object.
const SECOND_PLUGINS: [u32; 3] = [4, 6, 7];

fn main() -> Result<(), Failure> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=tests/c");
    // packaging/python/hatch_build.py: the wheel has no tests, and links for an older system than the hosts' libraries
    println!("cargo::rerun-if-env-changed=SCOREP_NCCL_NO_HOSTS");
    if env::var_os("SCOREP_NCCL_NO_HOSTS").is_some() {
        return Ok(());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: this is run by cargo only")?);
    for (name, source, links, header) in HOSTS {
        if let Some(header) = header {
            // so that cargo looks again once the header is installed
            println!("cargo::rerun-if-changed={header}");
            if !Path::new(header).is_file() {
                continue;
            }
        }
        let program = out.join(name);
        compile(source, &program, &[], links)?;
        println!("cargo::rustc-env=HOST_{}={}", name.to_uppercase(), program.display());
    }
    for version in SECOND_PLUGINS {
        // named as NCCL names profiler plugins
        let library = out.join(format!("libnccl-profiler-second{version}.so"));
        let flags = ["-shared", "-fPIC", &format!("-DVERSION={version}")];
        compile("tests/c/programs/second_plugin.c", &library, &flags, &[])?;
        println!("cargo::rustc-env=SECOND_PLUGIN_V{version}={}", library.display());
    }
    let nccl = out.join("libnccl-stand-in.so");
    compile("tests/c/programs/nccl_library.c", &nccl, &["-shared", "-fPIC"], &[])?;
    println!("cargo::rustc-env=NCCL_STAND_IN={}", nccl.display());
    // named like AMD's library
    let rccl = out.join("librccl.so.1");
    compile("tests/c/programs/nccl_library.c", &rccl, &["-shared", "-fPIC"], &[])?;
    println!("cargo::rustc-env=RCCL_STAND_IN={}", rccl.display());
    for (name, variable) in [
        ("slow_names", "SLOW_NAMES"),
        ("watched_calls", "WATCHED_CALLS"),
        ("locked_memory", "LOCKED_MEMORY"),
        ("constructor", "CONSTRUCTOR"),
    ] {
        let library = out.join(format!("lib{name}.so"));
        compile(&format!("tests/c/programs/{name}.c"), &library, &["-shared", "-fPIC"], &[])?;
        println!("cargo::rustc-env={variable}={}", library.display());
    }
    // named like Score-P 8.4's library
    let measurement = out.join("libscorep_measurement.so.11");
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libscorep_measurement.so.11"];
    compile("tests/c/score_p/scorep_measurement.c", &measurement, &flags, &["-lpthread"])?;
    println!("cargo::rustc-env=SCORE_P_STAND_IN={}", measurement.display());
    // named like CUDA's driver and NVML, each in a folder in which nothing else finds it; the last one is a driver that names
    // a GPU and no more
    let driver = |folder, option, variable| (folder, "libcuda.so.1", "tests/c/cuda/cuda_driver.c", option, variable);
    let nvml = |folder, option, variable| (folder, "libnvidia-ml.so.1", "tests/c/nvml/nvml.c", option, variable);
    for (folder, library, source, option, variable) in [
        driver("cuda", None, "CUDA_STAND_IN"),
        driver("old_cuda", Some("-DOLD_DRIVER"), "OLD_CUDA_STAND_IN"),
        driver("watched_cuda", Some("-DUNDER_SCORE_P"), "WATCHED_CUDA_STAND_IN"),
        nvml("nvml", None, "NVML_STAND_IN"),
        nvml("old_nvml", Some("-DOLD_DRIVER"), "OLD_NVML_STAND_IN"),
        ("current_gpu", "libcuda.so.1", "tests/c/nvml/current_gpu.c", None, "CURRENT_GPU_STAND_IN"),
    ] {
        let folder = out.join(folder);
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(library);
        let soname = format!("-Wl,-soname,{library}");
        let flags: Vec<&str> = ["-shared", "-fPIC", "-fvisibility=hidden", &soname].into_iter().chain(option).collect();
        compile(source, &path, &flags, &["-lpthread"])?;
        println!("cargo::rustc-env={variable}={}", path.display());
    }
    Ok(())
}

fn compile(source: &str, result: &Path, flags: &[&str], links: &[&str]) -> Result<(), Failure> {
    let mut command = cc::Build::new().try_get_compiler()?.to_command();
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g"]).args(flags).arg(source);
    command.arg("-o").arg(result).args(links);
    if !command.status()?.success() {
        return Err(format!("{source} could not be compiled").into());
    }
    Ok(())
}
