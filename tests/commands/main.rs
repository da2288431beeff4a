//! Every command of the documentation: run as it is written, or told why not. Every link leads somewhere.

mod job;
mod list;

use crate::support::{document, tool};
use document::{Page, pages, root};
use job::Job;
use list::{COMMANDS, How, NOT_YET, PAGES, PRINTED};
use std::collections::BTreeSet;
use std::process::Command;

/// Whether a command stands for many: a word in capitals, or in brackets, is to be replaced.
fn is_synopsis(command: &str) -> bool {
    command.split(' ').any(|word| {
        let word = word.trim_end_matches('.');
        word.starts_with('[')
            || word.ends_with(']')
            || word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '|')
    })
}

/// What is to be done with a command.
fn how(page: &Page, command: &str) -> Option<How> {
    PAGES.iter().find(|(name, _)| *name == page.name).map(|(_, test)| How::RunBy(test)).or_else(|| {
        let found: Vec<_> = COMMANDS.iter().filter(|(known, _)| *known == command).map(|(_, how)| *how).collect();
        assert!(found.len() < 2, "twice in the list: {command}");
        found.first().copied().or_else(|| is_synopsis(command).then_some(How::Synopsis))
    })
}

/// The blocks of a page that hold commands.
fn blocks(page: &Page) -> Vec<document::Block> {
    page.blocks().into_iter().filter(|block| !PRINTED.contains(&block[0].trim())).collect()
}

#[test]
fn every_command_is_run_or_it_is_told_why_not() {
    let known = |page: &Page, block: document::Block| -> Vec<String> {
        block
            .into_iter()
            .filter(|command| how(page, command).is_none())
            .map(|command| format!("{}: {command}", page.name))
            .collect()
    };
    let unknown: Vec<String> = pages()
        .iter()
        .flat_map(|page| blocks(page).into_iter().flat_map(|block| known(page, block)).collect::<Vec<_>>())
        .collect();
    assert_eq!(unknown, Vec::<String>::new(), "put them into tests/commands/list.rs");
}

#[test]
fn the_list_has_nothing_that_is_in_no_document() {
    let pages = pages();
    let written: BTreeSet<String> = pages.iter().flat_map(|page| page.blocks().into_iter().flatten()).collect();
    let gone = COMMANDS.iter().map(|(command, _)| *command).filter(|command| !written.contains(*command));
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<&str>::new());
    let printed = PRINTED.iter().filter(|line| !written.iter().any(|written| written.trim() == **line));
    assert_eq!(printed.collect::<Vec<_>>(), Vec::<&&str>::new());
    let absent =
        PAGES.iter().filter(|(name, _)| !NOT_YET.contains(name) && !pages.iter().any(|page| page.name == *name));
    assert_eq!(absent.count(), 0);
}

#[test]
fn tests_that_are_named_are_there() {
    for test in COMMANDS
        .iter()
        .filter_map(|(_, how)| how.test())
        .chain(PAGES.iter().filter(|(page, _)| !NOT_YET.contains(page)).map(|(_, test)| *test))
    {
        assert!(root().join(test).is_file(), "{test}");
    }
}

#[test]
fn commands_do_what_the_documents_say() {
    for page in pages() {
        for block in blocks(&page) {
            let runs: Vec<(&str, &[&str])> =
                block.iter().filter_map(|command| Some((command.as_str(), how(&page, command)?.leaves()?))).collect();
            if runs.is_empty() {
                continue;
            }
            let job = Job::new();
            let script: String = runs.iter().map(|(command, _)| format!("{command}\n")).collect();
            job.run(&script).unwrap_or_else(|said| std::panic::panic_any(format!("{}:\n{script}{said}", page.name)));
            for pattern in runs.iter().flat_map(|(_, leaves)| leaves.iter()) {
                assert!(job.has(pattern), "{}:\n{script}leaves no {pattern}", page.name);
            }
        }
    }
}

#[test]
fn targets_of_make_are_there() {
    let is_target = |text: &str| text.starts_with("make ") && !is_synopsis(text);
    for page in pages() {
        let of_blocks = blocks(&page).into_iter().flatten();
        let commands = page.literals().map(str::to_owned).chain(of_blocks).filter(|text| is_target(text));
        for command in commands.collect::<BTreeSet<_>>() {
            let mut words = command.split(' ').skip(1);
            tool::succeed(Command::new("make").arg("--dry-run").arg("--silent").args(&mut words).current_dir(root()));
        }
    }
}

#[test]
fn options_and_subcommands_are_the_tools() {
    for page in pages() {
        let of_blocks: Vec<String> = blocks(&page).into_iter().flatten().collect();
        for command in page.literals().chain(of_blocks.iter().map(String::as_str)) {
            let Some((_, rest)) = command
                .split_once("scorep-nccl ")
                .filter(|(before, _)| before.is_empty() || before.ends_with([' ', '/', '(']))
            else {
                continue;
            };
            let mut words = rest.split([' ', ')', '"', '[', ']']).take_while(|word| *word != "--");
            let Some(name) = words.next().filter(|name| !name.is_empty() && !name.starts_with('`')) else { continue };
            let help = tool::succeed(tool::tool().args([name, "--help"]));
            for option in words.filter(|word| word.starts_with("--")) {
                assert!(help.contains(option), "{}: {command}: there is no {option}", page.name);
            }
        }
    }
}

/// Documents whose commands are run elsewhere, or that have none.
fn others() -> Vec<Page> {
    let names =
        ["CHANGELOG.md", "SECURITY.md", "tests/README.md", "tests/captures/README.md", "examples/slurm/README.md"];
    names.into_iter().filter(|name| root().join(name).exists()).map(document::page).collect()
}

/// Commands and rows of tables apart, which cannot be broken.
#[test]
fn lines_are_short_enough_to_be_read() {
    let longest = 120;
    for page in pages().iter().chain(&others()) {
        let is_whole = |line: &&str| line.starts_with("    ") || line.starts_with('|');
        let long = page.text.lines().filter(|line| line.chars().count() > longest && !is_whole(line));
        assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new(), "{}: longer than {longest} characters", page.name);
    }
}

#[test]
fn every_subject_is_in_a_program_and_in_the_tests_own_page() {
    let page = document::page("tests/README.md").text;
    let programs = root().join("tests/programs").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut programs: String = programs.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    programs.push_str(&std::fs::read_to_string(root().join("Cargo.toml")).unwrap());
    let subjects = subjects();
    assert!(subjects.len() > 40, "{subjects:?}");
    let [unnamed, unbuilt]: [Vec<&String>; 2] = [
        subjects.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect(),
        subjects
            .iter()
            .filter(|name| !["/main", ""].iter().any(|end| programs.contains(&format!("/{name}{end}.rs\""))))
            .collect(),
    ];
    assert!(unnamed.is_empty(), "tests/README.md does not name {unnamed:?}");
    assert!(unbuilt.is_empty(), "no file of tests/programs has {unbuilt:?}");
}

/// The subjects of the tests, by their files: `tests/NAME.rs` and `tests/NAME/main.rs`.
fn subjects() -> Vec<String> {
    let entries = root().join("tests").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_subject =
        |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists();
    entries.filter(is_subject).map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn links_lead_somewhere() {
    for page in pages().iter().chain(&others()) {
        let directory = root().join(&page.name).parent().unwrap().to_owned();
        for link in page.links().into_iter().filter(|link| !link.starts_with("https://")) {
            let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { root().join(&page.name) } else { directory.join(path) };
            if !target.exists() && NOT_YET.iter().any(|name| target.ends_with(name.rsplit('/').next().unwrap())) {
                continue;
            }
            let target = target
                .canonicalize()
                .unwrap_or_else(|error| std::panic::panic_any(format!("{}: {link}: {error}", page.name)));
            if let Some(anchor) = anchor {
                let name = target.strip_prefix(root().canonicalize().unwrap()).unwrap().to_string_lossy().into_owned();
                assert!(
                    document::page(&name).anchors().iter().any(|known| known == anchor),
                    "{}: {link}: no such heading",
                    page.name
                );
            }
        }
    }
}

#[test]
fn a_synopsis_is_known_by_its_capitals() {
    assert!(is_synopsis("scorep-nccl replay DIR|FILE... [--summary FILE]") && is_synopsis("scorep-nccl run -- CMD"));
    assert!(!is_synopsis("A=B scorep-nccl run -- ./program -G x") && !is_synopsis("export PATH=$PWD/bin:$PATH"));
}
