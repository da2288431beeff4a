//! The floors in docs/architecture.md: for each crate a block with one line per floor, the top floor first. A line
//! names the floor's rooms.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The floors of a crate, from the top down.
pub(crate) struct Floors(Vec<Vec<String>>);

impl Floors {
    /// Reads the floors of the crate with that root module. They stand between a line such as "common/src/lib.rs:" and
    /// the block's end.
    pub(crate) fn of(root: &str) -> Self {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
        let text = fs::read_to_string(document).unwrap();
        let begin = format!("{root}:");
        let lines = text.lines().skip_while(|line| *line != begin).skip(1).take_while(|line| *line != "```");
        let floors: Vec<Vec<String>> = lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
        assert!(!floors.is_empty(), "docs/architecture.md has no block {begin}");
        Self(floors)
    }

    pub(crate) fn rooms(&self) -> BTreeSet<&str> {
        self.0.iter().flatten().map(String::as_str).collect()
    }

    /// Returns whether an import between these rooms goes to a higher floor or to another room of the same floor.
    pub(crate) fn goes_up(&self, (from, to): (&str, &str)) -> bool {
        let floor = |room: &str| self.0.iter().position(|floor| floor.iter().any(|one| one == room));
        from != to && floor(to) <= floor(from)
    }
}
