//! The documentation: its pages, the blocks of commands in them, and their links.

use std::path::{Path, PathBuf};

/// A page of the documentation.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its place in the repository.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Lines between blank lines that are indented by four, or between fences.
pub(crate) type Block = Vec<String>;

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README, CONTRIBUTING and everything in docs/.
pub(crate) fn pages() -> Vec<Page> {
    let entries = root().join("docs").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    paths.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    paths.sort();
    paths.iter().map(|path| page(&path.strip_prefix(root()).unwrap().to_string_lossy())).collect()
}

/// One page, by its place in the repository.
pub(crate) fn page(name: &str) -> Page {
    Page { name: name.into(), text: std::fs::read_to_string(root().join(name)).unwrap() }
}

impl Page {
    /// What is set as it is typed or printed. A fence that says `text` holds what is printed, and those of queries are
    /// for a test of their own; lines that end with a backslash go on.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = vec![vec![]];
        let (mut fence, mut was_blank) = (None, true);
        for line in self.text.lines() {
            if let Some(language) = line.strip_prefix("```") {
                fence = if fence.is_some() { None } else { Some(language) };
                blocks.push(vec![]);
                was_blank = true;
                continue;
            }
            let block = blocks.last_mut().unwrap();
            let code = match fence {
                Some(language) => (!matches!(language, "text" | "sql" | "python")).then_some(line),
                // a line that goes on from a paragraph or an item of a list is none
                None => line.strip_prefix("    ").filter(|_| was_blank || !block.is_empty()),
            };
            match code {
                Some(code) => match block.last_mut().filter(|last| last.ends_with('\\')) {
                    Some(last) => last.push_str(&format!("\n{code}")),
                    None => block.push(code.into()),
                },
                None => blocks.push(vec![]),
            }
            was_blank = line.trim().is_empty();
        }
        blocks.retain(|block| !block.is_empty());
        blocks
    }

    /// What is set between backticks, outside of blocks.
    pub(crate) fn literals(&self) -> impl Iterator<Item = &str> {
        self.prose().flat_map(|line| line.split('`').skip(1).step_by(2))
    }

    /// Text and target of each link and picture.
    pub(crate) fn links(&self) -> Vec<&str> {
        self.prose()
            .flat_map(|line| line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)))
            .collect()
    }

    /// The headings, as links name them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let headings = self.prose().filter(|line| line.starts_with('#'));
        headings.map(|heading| anchor(heading.trim_start_matches('#').trim())).collect()
    }

    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut fenced = false;
        self.text.lines().filter(move |line| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fenced && !fence && !line.starts_with("    ")
        })
    }
}

/// As code hosts make them of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
        .collect::<String>();
    kept.replace(' ', "-")
}
