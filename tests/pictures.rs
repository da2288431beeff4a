//! The pictures in docs/pictures equal those of the page that the demo writes, and the replay's. With
//! SCOREP_NCCL_RENEW=1 this test writes them anew.

use crate::support::tool;

use std::path::Path;

/// Holds a picture against the kept one.
fn hold(name: &str, drawn: &str) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(name);
    if std::env::var_os("SCOREP_NCCL_RENEW").is_some() {
        std::fs::write(&place, drawn).unwrap();
    }
    let kept = std::fs::read_to_string(place).unwrap();
    assert!(drawn == kept, "{name}: draw it anew with SCOREP_NCCL_RENEW=1 cargo test --test reports pictures::");
    assert!(drawn.len() < 20 << 10, "{name}: {} bytes", drawn.len());
}

#[test]
fn the_documents_have_the_timeline_of_the_demos_page() {
    let directory = tempfile::tempdir().unwrap();
    tool::succeed(tool::tool().arg("demo").arg("--output").arg(directory.path()));
    hold("timeline.svg", &timeline(&std::fs::read_to_string(directory.path().join("report.html")).unwrap()));
}

/// Cuts the step of median length and its key out of the page, in light colours.
fn timeline(page: &str) -> String {
    let figure = between(page, r#"<figure id="usual-chart""#, "</figure>");
    let (bottom, chart) = between(figure, r#"viewBox="0 0 880 "#, "</div>").split_once(r#"">"#).unwrap();
    let mut drawing = String::new();
    let mut x = 52;
    for entry in between(figure, r#"<ul class="key">"#, "</ul>").split("</li>") {
        let Some((swatch, text)) = entry.split_once("</svg> ") else { continue };
        let at = format!(r#"<svg x="{x}" y="-16""#);
        drawing += &swatch.replace("<li>", "").replace(r#"<svg class="swatch""#, &at);
        drawing += &format!("</svg>\n<text x=\"{}\" y=\"-6\">{text}</text>\n", x + 28);
        x += 52 + 6 * text.len();
    }
    drawing += chart;
    let style = between(page, "<style>", "</style>");
    let classes = drawing.split("class=\"").skip(1).flat_map(|rest| rest.split('"').next().unwrap().split(' '));
    let classes: Vec<String> = classes.map(|class| format!(".{class} ")).collect();
    let rules = between(style, "\nsvg text", "\n@media").lines().skip(1);
    let mut rules = rules.fold("text { fill: var(--ink); }\n".to_owned(), |rules, line| {
        if classes.iter().any(|class| line.contains(class)) { rules + line + "\n" } else { rules }
    });
    for (name, colour) in between(style, ":root {", "}").split(';').filter_map(|pair| pair.split_once(": ")) {
        rules = rules.replace(&format!("var({})", name.trim()), colour);
    }
    let height = bottom.parse::<u32>().unwrap() + 24;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"880\" height=\"{height}\" viewBox=\"0 -24 880 {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<style>\n{rules}</style>\n\
         <rect y=\"-24\" width=\"880\" height=\"{height}\" fill=\"#fff\"/>\n{drawing}\n"
    )
}

/// Returns the text between two others.
fn between<'a>(text: &'a str, before: &str, behind: &str) -> &'a str {
    text.split_once(before).unwrap().1.split_once(behind).unwrap().0
}

/// Pictures of sequences, with the operation and its recording.
const SEQUENCES: [(&str, &str, &str); 3] = [
    ("sequence-collective.svg", "AllReduce:12", "nodes2x2_collectives/collectives.r0.jsonl.gz"),
    ("sequence-group.svg", "Group:3", "net2_single/single.r0.jsonl.gz"),
    ("sequence-graph.svg", "AllReduce:5", "nodes2x2_graph/graph.r0.jsonl.gz"),
];

#[test]
fn the_documents_have_the_sequences_that_replay_draws() {
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sequence = |operation: &str, recording: &str| {
        let mut command = tool::tool();
        command.args(["replay", "--sequence", operation]).arg(root.join("tests/captures").join(recording));
        command
    };
    for (name, operation, recording) in SEQUENCES {
        let drawn = directory.path().join(name);
        tool::succeed(sequence(operation, recording).arg("--drawing").arg(&drawn));
        hold(name, &std::fs::read_to_string(drawn).unwrap());
    }
    let page = std::fs::read_to_string(root.join("docs/reading.md")).unwrap();
    for (operation, recording) in
        [("Send:4", "nodes2x2_train/train.r0.jsonl.gz"), ("Recv:4", "nodes2x2_train/train.r2.jsonl.gz")]
    {
        let printed = sequence(operation, recording).output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(printed.lines().count() > 20 && page.contains(&printed), "docs/reading.md lacks:\n{printed}");
    }
}
