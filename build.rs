//! Compiles the C hosts of the tests (tests/hosts), each where what it needs is installed, and tells the tests where they are.

use std::env;
use std::path::{Path, PathBuf};

/// A C program, what it links, and the header without which it cannot be compiled.
const HOSTS: [(&str, &[&str], Option<&str>); 4] = [
    ("otf2_last_values", &["-lotf2"], Some("/usr/include/otf2/otf2.h")),
    ("nccl_host", &["-ldl", "-lpthread"], None),
    ("stress_host", &["-ldl", "-lpthread"], None),
    ("profiler_layouts", &[], None),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=tests/hosts");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: this is run by cargo only")?);
    for (name, links, header) in HOSTS {
        if let Some(header) = header {
            // looked at again when it appears
            println!("cargo::rerun-if-changed={header}");
            if !Path::new(header).is_file() {
                continue;
            }
        }
        let source = format!("tests/hosts/{name}.c");
        let program = out.join(name);
        let compiler = cc::Build::new().try_get_compiler()?;
        let mut command = compiler.to_command();
        command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g"]).arg(&source);
        command.arg("-o").arg(&program).args(links);
        if !command.status()?.success() {
            return Err(format!("{source} could not be compiled").into());
        }
        println!("cargo::rustc-env=HOST_{}={}", name.to_uppercase(), program.display());
    }
    Ok(())
}
