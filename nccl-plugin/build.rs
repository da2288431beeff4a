//! Tells the linker that the library must stay loaded: NCCL closes it while threads of it still run.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
