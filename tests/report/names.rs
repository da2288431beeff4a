//! Names made of HTML, scripts, escapes and formulas, from the application and its environment: shown on the page, in the
//! tables and on the terminal, and run nowhere. The page is read by a real browser.

use crate::report::{ran, report};
use crate::support::edited::Edited;
use crate::support::tool;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A mark that a script leaves which runs.
const RAN: &str = "data-ran";
/// Names of communicators. Each that runs on a page leaves the mark.
const NAMES: [&str; 7] = [
    "<script>document.documentElement.setAttribute('data-ran','1')</script>",
    "<img src=x onerror=\"document.documentElement.setAttribute('data-ran','2')\">",
    "</script><script>document.documentElement.setAttribute('data-ran','3')</script>",
    "\"><svg onload=\"document.documentElement.setAttribute('data-ran','4')\">",
    "' onmouseover='document.documentElement.setAttribute(\"data-ran\",\"5\")' x='</title></option></select>",
    "=cmd|' /C calc'!A0",
    "@\u{1b}]0;title\u{7}\u{1b}[31m\u{9b}2J\u{202e}dna\u{2066}\u{200f}\u{61c}",
];
const BROWSER: &str = "chromium-headless-shell";

/// Recordings of two ranks whose communicators, hosts and jobs have these names.
fn recordings() -> Vec<Edited> {
    let captures = tool::captures(&tool::run("nodes2x1_comms"));
    let comms: RefCell<Vec<String>> = RefCell::default();
    let named = |line: &mut Value| {
        if line["cb"] == "init" {
            let (mut comms, comm) = (comms.borrow_mut(), line["comm"].as_str().unwrap());
            let place = comms.iter().position(|known| known == comm).unwrap_or_else(|| {
                comms.push(comm.to_owned());
                comms.len() - 1
            });
            line["name"] = NAMES[place % NAMES.len()].into();
        }
        if line["cb"] == "meta" {
            line["process"] = json!({"id": line["pid"].to_string(), "host": format!("{}{}", NAMES[1], NAMES[6])});
        }
    };
    let edited = captures.iter().map(|capture| Edited::of(capture, named)).collect();
    assert!(comms.into_inner().len() >= NAMES.len(), "each name has a communicator");
    edited
}

fn made(place: &Path) -> (String, String) {
    let recordings = recordings();
    let mut command = report(recordings.iter().map(Edited::path));
    command.arg("--html").arg(place.join("page.html")).arg("--csv").arg(place.join("csv")).arg("--all");
    let (status, printed, said) = ran(&mut command);
    assert_eq!(status, Some(0), "{said}");
    (printed, said)
}

#[test]
fn no_name_steers_a_terminal_or_is_a_formula() {
    let place = TempDir::new().unwrap();
    let (printed, said) = made(place.path());
    let steers = |letter: char| letter != '\n' && common::visible::steers(letter);
    assert_eq!(printed.chars().chain(said.chars()).find(|letter| steers(*letter)), None);
    assert!(printed.contains("\\u{1b}]0;title") && printed.contains("=cmd|"), "{printed}");
    let communicators = fs::read_to_string(place.path().join("csv/communicators.csv")).unwrap();
    for name in ["'=cmd|' /C calc'!A0", "'@\u{1b}]0;title"] {
        assert!(communicators.contains(name), "{communicators}");
    }
    for file in place.path().join("csv").read_dir().unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let is_formula = |cell: &str| cell.trim_start_matches('"').starts_with(['=', '@']);
        assert!(!text.split([',', '\n']).any(is_formula), "{text}");
    }
    // JSON as a terminal shows it
    let recordings = recordings();
    let mut command = report(recordings.iter().map(Edited::path));
    let json = tool::succeed(command.args(["--json", "-"]));
    assert_eq!(json.chars().find(|letter| steers(*letter)), None);
    let parsed: Value = serde_json::from_str(&json).unwrap();
    assert!(parsed["communicators"].to_string().contains('\u{202e}'), "the names are as they were");
}

/// Moves over all pictures and chooses all filters, as a person does.
const PLAYED: &str = r#"<script>
  for (const svg of document.querySelectorAll("svg.plot")) {
    const box = svg.getBoundingClientRect();
    for (let x = 0; x <= 20; x++) for (let y = 0; y <= 10; y++) {
      const at = { clientX: box.left + (box.width * x) / 20, clientY: box.top + (box.height * y) / 10, bubbles: true };
      svg.dispatchEvent(new PointerEvent("pointermove", at));
      svg.dispatchEvent(new MouseEvent("mouseover", at));
    }
  }
  for (const select of document.querySelectorAll("select"))
    for (const option of select.options) { select.value = option.value; select.dispatchEvent(new Event("change")); }
  for (const node of document.querySelectorAll("details")) node.open = true;
  document.documentElement.setAttribute("data-played", "yes");
</script>"#;

/// Returns the document as a browser has it after all has been played.
fn browsed(place: &Path, page: &str) -> String {
    let file = place.join("played.html");
    fs::write(&file, page.replace("</body>", &format!("{PLAYED}</body>"))).unwrap();
    let mut browser = Command::new(BROWSER);
    browser.args(["--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=3000"]);
    browser.arg(format!("--user-data-dir={}", place.join("browser").display()));
    let output = browser.arg(format!("file://{}", file.display())).env("HOME", place).output().unwrap();
    let document = String::from_utf8(output.stdout).unwrap();
    assert!(document.contains("data-played=\"yes\""), "{}", String::from_utf8_lossy(&output.stderr));
    document
}

#[test]
fn no_name_is_run_by_a_browser() {
    if Command::new(BROWSER).arg("--version").output().is_err() {
        return tool::skip(BROWSER);
    }
    let place = TempDir::new().unwrap();
    made(place.path());
    let page = fs::read_to_string(place.path().join("page.html")).unwrap();
    let document = browsed(place.path(), &page);
    let root = document.split_once("<head").unwrap().0;
    assert!(!root.contains(RAN), "{root}");
    for tag in ["<img", "<svg onload", "<style onload"] {
        assert!(!document.contains(tag), "{tag}");
    }
    // they are there, as text
    assert!(document.contains("&lt;script&gt;document") && document.contains("&lt;img src=x"));
    assert!(document.contains("=cmd|"));
    let title = document.split_once("<title>").unwrap().1;
    assert!(title.starts_with("NCCL report, "), "{title:.80}");
    // each of those that may run does where it is not text
    for (number, name) in NAMES.iter().enumerate().take(4) {
        let bare = page.replacen("<main", &format!("<div>{name}</div><main"), 1);
        let document = browsed(place.path(), &bare);
        assert!(document.split_once("<head").unwrap().0.contains(RAN), "name {number} does not run");
    }
}
