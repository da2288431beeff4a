//! Checks the imports between a crate's files: no import goes up the floors of docs/architecture.md, and no imports
//! form a circle. Few types share a name, and no file is too long.

mod circles;
mod floors;
mod imports;
mod measures;
mod source;

use circles::circles;
use floors::Floors;
use imports::{Import, imports, room};
use measures::{MOST_LINES, Types, long_files, product_lines};
use source::{Module, Name, modules};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crates, by the file of their root module.
const CRATES: [&str; 9] = [
    "common/src/lib.rs",
    "nccl-plugin/src/lib.rs",
    "scorep-substrate/src/lib.rs",
    "recording/src/lib.rs",
    "tools/report/src/lib.rs",
    "tools/present/src/lib.rs",
    "tools/input/src/lib.rs",
    "tools/live/src/lib.rs",
    "src/main.rs",
];

struct Crate {
    modules: BTreeMap<Name, Module>,
    imports: Vec<Import>,
}

impl Crate {
    fn read(root: &str) -> Self {
        let modules = modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(root));
        let imports = imports(&modules);
        Self { modules, imports }
    }

    fn places<'a>(&self, of: impl Iterator<Item = &'a Import>) -> String {
        of.map(|import| import.place(&self.modules)).collect::<Vec<_>>().join("\n")
    }
}

fn circles_of_files(of: &Crate) -> Vec<BTreeSet<Name>> {
    let within = of.imports.iter().filter(|import| import.rooms().0 == import.rooms().1);
    circles(within.map(|import| (import.from.clone(), import.to.clone())))
}

#[test]
fn no_circle_runs_through_two_rooms() {
    let mut found = String::new();
    for root in CRATES {
        let of = Crate::read(root);
        for circle in circles(of.imports.iter().map(|import| import.rooms())) {
            let lines = of.imports.iter().filter(|import| {
                let (from, to) = import.rooms();
                from != to && circle.contains(from) && circle.contains(to)
            });
            found += &format!("{root}: a circle of {circle:?}:\n{}\n", of.places(lines));
        }
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn no_circle_in_a_room_runs_through_two_files() {
    let mut found = String::new();
    for root in CRATES {
        let of = Crate::read(root);
        for circle in circles_of_files(&of) {
            let lines = of.imports.iter().filter(|import| circle.contains(&import.from) && circle.contains(&import.to));
            found += &format!("{root}: a circle of {} files:\n{}\n", circle.len(), of.places(lines));
        }
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn no_file_is_too_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["common", "nccl-plugin", "recording", "scorep-substrate", "src", "tests", "tools"];
    let found: Vec<_> = folders.into_iter().flat_map(|folder| long_files(&root.join(folder))).collect();
    assert!(found.is_empty(), "files of more than {MOST_LINES} lines: {found:#?}");
}

#[test]
fn imports_go_down() {
    for root in CRATES {
        let of = Crate::read(root);
        let floors = Floors::of(root);
        let rooms: BTreeSet<&str> = of.modules.keys().map(room).filter(|room| !room.is_empty()).collect();
        assert_eq!(
            floors.rooms(),
            rooms,
            "{root}: the rooms that docs/architecture.md names, and those that are there"
        );
        let up: Vec<&Import> = of.imports.iter().filter(|import| floors.goes_up(import.rooms())).collect();
        assert!(up.is_empty(), "{root}: imports that go up:\n{}", of.places(up.into_iter()));
    }
}

/// Prints the lines of each crate, and the names that types share.
#[test]
fn few_types_share_a_name() {
    let (mut lines, mut types) = (0, Types::default());
    for root in CRATES {
        let of = Crate::read(root);
        let here = product_lines(&of.modules);
        println!("{root}: {here} lines without tests");
        lines += here;
        types.add(&of.modules);
    }
    let shared = types.shared();
    let bearers: usize = shared.iter().map(|(_, files)| files.len()).sum();
    println!("{lines} lines without tests; {bearers} of {} types share {} names", types.all(), shared.len());
    shared.iter().for_each(|(name, files)| println!("  {name} x{}: {}", files.len(), files.join(" ")));
    assert!(bearers * 5 <= types.all(), "more than a fifth of all types share their names");
}

/// Planted faults are found.
#[test]
fn a_circle_is_found_and_a_line_named() {
    let directory = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = directory.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod low;\nmod high;\nmod loose;\n");
    write("low/mod.rs", "pub mod one;\npub mod two;\npub use two::Two;\n");
    write(
        "low/one.rs",
        "use super::Two;\nfn call() { println!(\"{}\", crate::high::UP); }\n#[cfg(test)]\nmod tests { use crate::loose::L; }\n",
    );
    write(
        "low/two.rs",
        "use crate::low::one;\npub struct Two;\nmod within { use super::Two; use super::super::one::One; }\n",
    );
    write("high.rs", "use crate::low::{one::One, Two as Other};\npub const UP: u8 = 1;\n");
    write("loose.rs", "use super::high;\n");
    let of = Crate::read(directory.path().join("lib.rs").to_str().unwrap());
    let found: Vec<(String, String, usize)> =
        of.imports.iter().map(|import| (import.from.join("::"), import.to.join("::"), import.line)).collect();
    let expected = [
        ("high", "low::one", 1),
        ("high", "low::two", 1),
        ("loose", "high", 1),
        ("low::one", "high", 2),
        ("low::one", "low::two", 1),
        ("low::two", "low::one", 1),
    ];
    assert_eq!(found, expected.map(|(from, to, line)| (from.to_owned(), to.to_owned(), line)));
    assert_eq!(circles(of.imports.iter().map(|import| import.rooms())), [BTreeSet::from(["high", "low"])]);
    assert_eq!(circles_of_files(&of).len(), 1);
    write("low/long.h", &"\n".repeat(MOST_LINES + 1));
    assert_eq!(long_files(directory.path()).iter().map(|(_, lines)| *lines).collect::<Vec<_>>(), [MOST_LINES + 1]);
}
