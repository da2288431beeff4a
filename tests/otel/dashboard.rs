//! The dashboard of examples/grafana: each query of it, asked of a real Prometheus with the figures of replayed jobs in
//! textfiles and over OTLP, gives what the summaries say.

use crate::database::Database;
use crate::job;
use crate::panels::{Job, Shown};
use crate::points::{self, Labels};
use crate::prometheus::Daemon;
use crate::receiver::{Receiver, Request};
use crate::support::tool;
use crate::text::{self, Line};
use prost::Message;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Jobs: one that the GPU has timed all of; one with fits, and with much that is missing; and one of whose two
/// processes one is missing.
const JOBS: [(&str, &str, Option<usize>); 3] = [
    ("training", "nodes2x2_train", None),
    ("test", "nodes2x2_collectives", None),
    ("half", "net2_collectives", Some(1)),
];

/// The jobs, and their series as Prometheus has them by either way.
struct Replayed {
    jobs: Vec<Job>,
    textfiles: Vec<Line>,
    sent: Vec<(String, Request)>,
}

/// Each job in one window, so that the mean of its windows is what the summary has.
fn replayed() -> Option<Replayed> {
    let mut all = Replayed { jobs: vec![], textfiles: vec![], sent: vec![] };
    for (name, run, processes) in JOBS {
        let receiver = Receiver::good();
        let directory = tempfile::tempdir().unwrap();
        let captures = tool::captures(&tool::run(run));
        let mut command = tool::tool();
        command.arg("replay").args(&captures[..processes.unwrap_or(captures.len())]);
        command.args(["--format", "json", "--window", "3600", "--otlp", &receiver.endpoint()]);
        job::without_others(&mut command).env("NCCL_SCOREP_WINDOW_EVENTS", "1000000");
        command.env("NCCL_SCOREP_LOG", "off").env("NCCL_SCOREP_PROM_DIR", directory.path());
        let summary = tool::summary(command.env("OTEL_SERVICE_NAME", name));
        // the recordings have no hosts
        let host = format!("{name}-pod");
        let of_exporter = Daemon::node_exporter(directory.path())?.get("/metrics").unwrap();
        all.textfiles.extend(scraped(&of_exporter, &host, "node", "node:9100"));
        all.sent.extend(receiver.requests().into_iter().map(|request| (host.clone(), request)));
        all.jobs.push(Job { name, host, summary });
    }
    Some(all)
}

/// Our lines of what was scraped from a target, as Prometheus keeps them.
fn scraped(text: &str, host: &str, job: &str, instance: &str) -> Vec<Line> {
    let ours: Vec<&str> = text.lines().filter(|line| line.starts_with("nccl_")).collect();
    let mut lines = text::lines(&ours.join("\n"));
    for line in &mut lines {
        assert!(line.labels.contains_key("hostname"), "{line:?}");
        line.labels.extend(
            [("hostname", host), ("job", job), ("instance", instance)].map(|(name, value)| (name.into(), value.into())),
        );
    }
    lines
}

/// Where `make test-packages` has installed OpenTelemetry's exporter for Prometheus.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    Some(root.join("dashboards/bin/python")).filter(|python| python.is_file())
}

/// What was sent, under Prometheus' names and with the labels that receivers of OTLP make of the resource.
fn received(python: &Path, sent: &[(String, Request)]) -> Vec<Line> {
    let directory = tempfile::tempdir().unwrap();
    let of_request = |(host, request): &(String, Request)| {
        let file = directory.path().join("request");
        std::fs::write(&file, request.body.encode_to_vec()).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otel/exposition.py");
        let text = tool::succeed(Command::new(python).arg(script).arg(&file));
        let resource = points::resource(request);
        scraped(&text, host, &resource["service.name"], &resource["service.instance.id"])
    };
    sent.iter().flat_map(of_request).collect()
}

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/grafana/scorep-nccl.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A query as Grafana sends it.
fn filled(query: &str, variables: &BTreeMap<String, String>) -> String {
    let filled =
        variables.iter().fold(query.to_owned(), |query, (name, value)| query.replace(&format!("${name}"), value));
    // the rest is label_replace's
    assert!(!filled.replace("$1", "").contains('$'), "a variable that is none: {filled}");
    filled
}

/// The values that a variable offers: those of a label.
fn offered(database: &Database, variable: &Value, variables: &BTreeMap<String, String>) -> BTreeSet<String> {
    let query = variable["query"]["query"].as_str().unwrap();
    let inner = |start: &str| query.strip_prefix(start).and_then(|rest| rest.strip_suffix(')'));
    let (query, label) = if let Some((selector, label)) = inner("label_values(").and_then(|rest| rest.rsplit_once(", "))
    {
        (format!("group by ({label}) ({selector})"), label)
    } else {
        let regex = variable["regex"].as_str().unwrap();
        let label = regex.strip_prefix('/').and_then(|rest| rest.strip_suffix(r#"="([^"]+)"/"#)).unwrap();
        (inner("query_result(").unwrap().to_owned(), label)
    };
    database
        .query(&filled(&query, variables))
        .into_iter()
        .map(|(mut labels, _)| labels.remove(label).unwrap())
        .collect()
}

/// All variables, where the job is chosen and all of the others'.
fn chosen(database: &Database, dashboard: &Value, job: &Job) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        let value = match variable["type"].as_str().unwrap() {
            "datasource" => continue,
            "custom" if name == "top" => {
                let most = variable["query"].as_str().unwrap().rsplit(',').next().unwrap();
                most.to_owned()
            }
            "custom" => variable["current"]["value"].as_str().unwrap().to_owned(),
            _ => {
                let mut offered = offered(database, variable, &variables);
                if name == "job" {
                    assert_eq!(offered, JOBS.map(|(name, ..)| name.to_owned()).into(), "the jobs");
                    offered.retain(|name| name == job.name);
                }
                if name == "host" {
                    assert_eq!(offered, [job.host.clone()].into(), "the hosts of {}", job.name);
                }
                assert!(!offered.is_empty(), "{name} offers nothing");
                format!("({})", offered.into_iter().collect::<Vec<_>>().join("|"))
            }
        };
        variables.insert(name.to_owned(), value);
    }
    variables
}

fn differences(found: &[(Labels, f64)], shown: &Shown) -> Vec<String> {
    let found: BTreeMap<&Labels, f64> = found.iter().map(|(labels, value)| (labels, *value)).collect();
    let keys: BTreeSet<&Labels> = found.keys().copied().chain(shown.keys()).collect();
    // a time is kept in nanoseconds
    let is_close = |one: f64, other: f64| (one - other).abs() <= 1e-9 + 1e-8 * other.abs();
    let pairs = keys.into_iter().map(|key| (key, found.get(key).copied(), shown.get(key).copied()));
    let wrong = pairs.filter(|(_, found, shown)| !found.zip(*shown).is_some_and(|(one, other)| is_close(one, other)));
    wrong.map(|(key, found, shown)| format!("{key:?}: {found:?}, the summary says {shown:?}")).collect()
}

/// Asks every query, for each job.
fn check(lines: &[Line], jobs: &[Job]) {
    let Some(database) = Database::of(lines) else { return };
    let dashboard = dashboard();
    let (mut asked, mut compared) = (BTreeSet::new(), BTreeSet::new());
    for job in jobs {
        let variables = chosen(&database, &dashboard, job);
        for panel in dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row") {
            let title = panel["title"].as_str().unwrap();
            for target in panel["targets"].as_array().unwrap() {
                let query = target["refId"].as_str().unwrap();
                let found = database.query(&filled(target["expr"].as_str().unwrap(), &variables));
                let name = format!("{title}, {query}");
                // figures of `scorep-nccl watch`, which no summary has: tests/watch has their names
                if title.starts_with("Watch: ") {
                    continue;
                }
                if let Some(shown) = job.shown(title, query) {
                    assert_eq!(differences(&found, &shown), Vec::<String>::new(), "{name} of {}", job.name);
                    // what shows nothing has shown nothing wrong
                    compared.extend((!shown.is_empty()).then(|| name.clone()));
                }
                asked.insert(name);
            }
        }
    }
    assert!(asked == compared && asked.len() >= 15, "{:?}", asked.difference(&compared));
}

#[test]
fn its_panels_show_the_summarys_figures_in_textfiles() {
    let Some(all) = replayed() else { return };
    check(&all.textfiles, &all.jobs);
}

#[test]
fn its_panels_show_the_summarys_figures_over_otlp() {
    let Some(python) = python() else {
        return tool::skip("no exporter for Prometheus of OpenTelemetry's (`make test-packages`)");
    };
    let Some(all) = replayed() else { return };
    check(&received(&python, &all.sent), &all.jobs);
}
