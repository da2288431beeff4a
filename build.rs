//! Compiles the C hosts of the tests.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
