//! Writes the page of an invented report, to look at:
//! `cargo run -p scorep-nccl-present --example sample_page -- RANKS > page.html`.

#![expect(clippy::unwrap_used, reason = "an example that cannot go on should stop")]

#[path = "../../report/tests/sample/mod.rs"]
mod sample;

use present::page;
use sample::sample;
use std::io::Write;

fn main() {
    let ranks = std::env::args().nth(1).unwrap().parse().unwrap();
    std::io::stdout().write_all(page::html(&sample(ranks)).as_bytes()).unwrap();
}
