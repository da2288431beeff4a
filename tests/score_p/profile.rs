//! A profile as cube_dump shows it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::installation;

/// All values of a profile.
#[derive(Debug)]
pub(crate) struct Profile {
    threads: BTreeMap<usize, Thread>,
    /// Regions of the call paths.
    paths: BTreeMap<usize, String>,
    /// By call path, thread and metric; of a call path with those below it.
    values: BTreeMap<(usize, usize), BTreeMap<String, f64>>,
}

/// A thread, or a location that is none.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) is_cpu: bool,
    /// As in [`Location::group`](crate::support::trace::Location).
    pub(crate) process: String,
}

impl Profile {
    /// Reads the profile of an experiment.
    pub(crate) fn read(experiment: &Path) -> Self {
        let file = experiment.join("profile.cubex");
        let dump = |flags: &[&str]| installation::say(installation::command("cube_dump").args(flags).arg(&file));
        let values = ["-m", "all", "-c", "all", "-x", "incl", "-z", "incl", "-s", "csv2"];
        Self::parse(&dump(&["-w", "systemtree"]), &dump(&["-w", "calltree"]), &dump(&values))
    }

    /// From what is printed of threads, of call paths, and of values.
    pub(crate) fn parse(system: &str, calls: &str, values: &str) -> Self {
        let mut profile = Self { threads: BTreeMap::new(), paths: BTreeMap::new(), values: BTreeMap::new() };
        let mut process = String::new();
        for line in system.lines() {
            let Some((name, id, rest)) = branch(line, " (id=") else { continue };
            if rest.contains("type=process") {
                process = name;
            } else if rest.contains("type=thread") || rest.contains("type=accelerator stream") {
                let is_cpu = rest.contains("type=thread");
                profile.threads.insert(id, Thread { is_cpu, process: process.clone() });
            }
        }
        let tree = calls.lines().skip_while(|line| !line.contains("CALL TREE"));
        profile.paths = tree.filter_map(|line| branch(line, "  [ ( id=")).map(|(name, id, _)| (id, name)).collect();
        let mut lines = values.lines();
        let metrics: Vec<&str> = lines.next().unwrap().split(',').skip(2).collect();
        for line in lines.filter(|line| !line.is_empty()) {
            let cells: Vec<&str> = line.split(',').collect();
            let row =
                metrics.iter().zip(&cells[2..]).filter_map(|(&name, cell)| Some((name.to_owned(), cell.parse().ok()?)));
            profile.values.insert((cells[0].parse().unwrap(), cells[1].parse().unwrap()), row.collect());
        }
        profile
    }

    /// Threads of the application.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (usize, &Thread)> {
        self.threads.iter().filter(|(_, thread)| thread.is_cpu).map(|(&id, thread)| (id, thread))
    }

    /// Locations of a process that are no threads.
    pub(crate) fn lanes(&self, process: &str) -> impl Iterator<Item = (usize, &Thread)> {
        self.threads
            .iter()
            .filter(move |(_, thread)| !thread.is_cpu && thread.process == process)
            .map(|(&id, thread)| (id, thread))
    }

    /// A metric's value in a region on a thread, summed over its call paths; 0 where there is none.
    pub(crate) fn value(&self, region: &str, thread: usize, metric: &str) -> f64 {
        let paths = self.paths.iter().filter(|(_, name)| *name == region);
        paths.filter_map(|(&path, _)| self.values.get(&(path, thread))?.get(metric)).sum()
    }

    /// A metric's value in the whole program on a thread.
    pub(crate) fn total(&self, thread: usize, metric: &str) -> f64 {
        let root = self.paths.keys().next().copied().unwrap_or(0);
        self.values.get(&(root, thread)).and_then(|row| row.get(metric)).copied().unwrap_or(0.0)
    }
}

/// Seconds that all locations but threads are in regions.
pub(crate) fn kernels(experiment: &Path) -> f64 {
    let profile = Profile::read(experiment);
    let lanes = profile.threads.iter().filter(|(_, thread)| !thread.is_cpu);
    lanes.map(|(&lane, _)| profile.value("KERNELS", lane, "time")).sum()
}

/// A line of a tree: name, number, and what follows.
fn branch<'a>(line: &'a str, mark: &str) -> Option<(String, usize, &'a str)> {
    let (name, rest) = line.split_once(mark)?;
    let name = name.trim_start_matches([' ', '|', '-']).to_owned();
    let end = rest.find(|character: char| !character.is_ascii_digit())?;
    Some((name, rest[..end].parse().ok()?, &rest[end..]))
}
