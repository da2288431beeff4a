//! Installs with CMake, and uses only what was installed. cargo builds once: the release that `make library tool`
//! makes, in the same place.

mod alone;
mod build;
mod document;
mod links;
mod modules;
mod packages;
mod recipes;
mod wrong;

use crate::support::{once, tool};
use build::{Build, files};
use common::config::SETTINGS;
use once::made_once;
use std::path::PathBuf;
use std::process::Command;
use tool::{program, run, succeed, summary};

/// The tree that was installed, for tests that only look.
fn installed() -> PathBuf {
    let place = made_once("installed", |place| {
        let mut build = Build::new();
        build.prefix = place.join("made/for/it");
        build.configure(&[]);
        build.make("all");
        build.make("install");
    });
    place.join("made/for/it")
}

#[test]
#[ignore = "installation"]
fn a_replay_with_what_was_installed_tells_what_this_build_tells() {
    let figures = |mut command: Command| {
        let mut summary = summary(command.args(["replay", "--format", "json"]).arg(run("nodes2x2_train")));
        // not those of the processes, which have numbers and memory of their own
        ["operations", "transfers", "channels"].map(|table| summary[table].take())
    };
    let [here, there] = [figures(tool::tool()), figures(program(&installed().join("bin/scorep-nccl")))];
    assert!(!here[0].as_array().unwrap().is_empty() && here == there);
}

#[test]
#[ignore = "installation"]
fn every_name_of_the_library_is_a_relative_link_to_it() {
    links::hold(&installed().join("lib"), tool::LIBRARY, &links::NAMES);
}

#[test]
#[ignore = "installation"]
fn all_names_are_one_library_in_memory() {
    assert_eq!(
        links::images(&installed().join("lib"), &[tool::LIBRARY, links::NAMES[0], links::NAMES[1], links::NAMES[2]]),
        1
    );
}

#[test]
#[ignore = "installation"]
fn what_is_stripped_has_no_debugging_information() {
    for file in ["bin/scorep-nccl", "lib/libscorep_substrate_nccl.so"] {
        let sections = succeed(Command::new("readelf").args(["--sections", "--wide"]).arg(installed().join(file)));
        assert!(sections.contains(".dynsym") && !sections.contains(".debug_info"), "{file}\n{sections}");
        let dynamic = succeed(Command::new("readelf").arg("--dynamic").arg(installed().join(file)));
        assert!(!dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"), "{file}\n{dynamic}");
    }
}

#[test]
#[ignore = "installation"]
fn the_manual_has_every_setting_and_a_page_for_every_command() {
    let manual = installed().join("share/man/man1");
    // in roff's spelling
    let read =
        |name: &str| std::fs::read_to_string(manual.join(name)).unwrap().replace(r"\*(Aq", "'").replace(r"\-", "-");
    let page = read("scorep-nccl.1");
    for setting in SETTINGS {
        assert!(page.contains(setting.name) && page.contains(setting.meaning), "{}", setting.name);
    }
    let help = succeed(program(&installed().join("bin/scorep-nccl")).arg("--help"));
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands =
        commands.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    for command in commands.filter(|command| *command != "help") {
        let name = format!("scorep-nccl-{command}");
        assert!(page.contains(&format!("{name}(1)")) && read(&format!("{name}.1")).contains(".SH SYNOPSIS"), "{name}");
    }
}

#[test]
#[ignore = "installation"]
fn shells_complete_the_commands_and_none_of_the_hidden_ones() {
    let share = installed().join("share");
    let scripts = [
        "bash-completion/completions/scorep-nccl",
        "zsh/site-functions/_scorep-nccl",
        "fish/vendor_completions.d/scorep-nccl.fish",
    ];
    for script in scripts {
        let text = std::fs::read_to_string(share.join(script)).unwrap();
        assert!(
            text.contains("replay") && text.contains("otf2") && !text.contains("replay-one") && !text.contains("pages"),
            "{script}"
        );
    }
    // what bash offers after `scorep-nccl re`
    let ask = "source \"$0\"; COMP_WORDS=(scorep-nccl re) COMP_CWORD=1; _scorep__nccl scorep-nccl re scorep-nccl; echo \"${COMPREPLY[@]}\"";
    let offered = succeed(Command::new("bash").args(["-c", ask]).arg(share.join(scripts[0])));
    assert_eq!(offered.trim(), "replay report");
}

#[test]
#[ignore = "installation"]
fn below_destdir_lies_the_same_and_nothing_is_left_when_it_is_taken_away() {
    let mut build = Build::new();
    let stage = build.directory.path().join("stage");
    build.environment.push(("DESTDIR".into(), stage.clone().into()));
    build.configure(&[]);
    build.make("all");
    build.make("install");
    let below = stage.join(build.prefix.strip_prefix("/").unwrap());
    assert_eq!(files(&below), files(&installed()));
    assert!(!build.prefix.exists());
    links::hold(&below.join("lib"), tool::LIBRARY, &links::NAMES);

    // packages are made meanwhile, and somebody's file lies beside ours
    build.pack();
    let foreign = below.join("share/man/man1/other.1");
    std::fs::write(&foreign, "").unwrap();
    build.make("uninstall");
    assert_eq!(files(&stage), [foreign.strip_prefix(&stage).unwrap()]);
    std::fs::remove_file(foreign).unwrap();

    build.make("install");
    build.make("uninstall");
    assert_eq!(files(&stage), Vec::<std::path::PathBuf>::new());
    let said = build.fail("uninstall");
    assert!(said.contains("nothing was installed from"), "{said}");
}
