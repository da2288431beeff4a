//! The user's file of dimensions: plain text, a line a rule.
//!
//! ```text
//! # dimension, then `name` and a pattern, or `ranks` and sets of ranks of the job
//! DP name mesh_dp*
//! TP ranks 0-3 4-7
//! PP ranks 0,4
//! ```
//! The first rule that fits a communicator holds.

use crate::job::{DimensionRule, Unreadable};
use common::ranks;

/// Most ranks that a file may name, in all of its sets: 64 MiB of them.
const MAX_RANKS_NAMED: usize = 1 << 24;

/// Reads the rules of a file.
///
/// # Errors
/// A line is no rule.
pub fn rules(file: &str, text: &str) -> Result<Vec<DimensionRule>, Unreadable> {
    let mut rules = vec![];
    let mut left = MAX_RANKS_NAMED;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let read = rules_of(line, &mut left).map_err(|cause| Unreadable {
            file: file.into(),
            place: Some(format!("line {}", at + 1)),
            cause: format!("{cause}; write `DP name mesh_dp*` or `TP ranks 0-3 4-7`"),
        })?;
        rules.extend(read);
    }
    Ok(rules)
}

fn rules_of(line: &str, left: &mut usize) -> Result<Vec<DimensionRule>, String> {
    let words = line.split_once(char::is_whitespace).and_then(|(dimension, rest)| {
        let (key, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        Some((dimension, key, rest.trim_start()))
    });
    let Some((dimension, key, rest)) = words else { return Err("a rule has at least three words".into()) };
    match key {
        // a name may have spaces
        "name" => Ok(vec![DimensionRule::Name { pattern: rest.into(), dimension: dimension.into() }]),
        "ranks" => rest
            .split_whitespace()
            .map(|set| Ok(DimensionRule::Ranks { ranks: ranks_of(set, left)?, dimension: dimension.into() }))
            .collect(),
        _ => Err(format!("the second word is `{key}`, neither `name` nor `ranks`")),
    }
}

/// Returns the ranks of a set; `left` is the number of those that may still be named.
fn ranks_of(set: &str, left: &mut usize) -> Result<Vec<u32>, String> {
    let mut ranks = vec![];
    for part in set.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().ok().filter(|&rank| ranks::are_possible(rank));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => {
                let named = usize::try_from(last - first).map_or(usize::MAX, |more| more + 1);
                *left = left
                    .checked_sub(named)
                    .ok_or_else(|| format!("more than {MAX_RANKS_NAMED} ranks are named up to here"))?;
                ranks.extend(first..=last);
            }
            _ => return Err(format!("`{part}` is neither a rank nor a range of ranks")),
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

/// Returns the dimension of the first rule that fits a communicator with this name and these ranks of the job, sorted.
pub(super) fn by_rule(rules: &[DimensionRule], name: &str, found: &[u32]) -> Option<String> {
    rules.iter().find_map(|rule| match rule {
        DimensionRule::Name { pattern, dimension } => fits(pattern, name).then(|| dimension.clone()),
        DimensionRule::Ranks { ranks, dimension } => (ranks == found).then(|| dimension.clone()),
    })
}

/// Returns whether a name fits a pattern in which `*` is any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let inner = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail));
    // the first place of each part leaves the most for those after it
    let after = |name: &'_ str, part: &str| name.find(part).map(|at| at + part.len());
    inner.is_some_and(|inner| {
        middle.split('*').try_fold(0, |at, part| Some(at + after(inner.get(at..)?, part)?)).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_patterns_and_sets_of_ranks() {
        let read =
            rules("dimensions", "# ours\n\nDP name mesh_dp*\n TP ranks 0-2,7 4,3\nwide name the world\n").unwrap();
        let by_name = |pattern: &str, dimension: &str| DimensionRule::Name {
            pattern: pattern.into(),
            dimension: dimension.into(),
        };
        let by_ranks = |ranks: &[u32]| DimensionRule::Ranks { ranks: ranks.to_vec(), dimension: "TP".into() };
        let expected =
            vec![by_name("mesh_dp*", "DP"), by_ranks(&[0, 1, 2, 7]), by_ranks(&[3, 4]), by_name("the world", "wide")];
        assert_eq!(read, expected);
        assert_eq!(by_rule(&read, "", &[3, 4]), Some("TP".into()));
        assert_eq!((by_rule(&read, "the world", &[]), by_rule(&read, "x", &[3])), (Some("wide".into()), None));
    }

    #[test]
    fn an_error_names_file_line_and_cause() {
        let error = |text| rules("dims.txt", text).unwrap_err().to_string();
        assert!(error("DP name a\nTP ranks 4-x").starts_with("dims.txt, line 2: `4-x` is neither a rank nor a range"));
        assert!(error("TP ranks 4-2").contains("`4-2` is neither"));
        assert!(error("DP\n").contains("at least three words") && error("DP is x").contains("`is`, neither `name`"));
        assert!(error("DP ranks 0-4000000000").contains("neither a rank"));
        let many = format!("DP name a\nTP ranks {}", "0-1048575,".repeat(100));
        assert!(error(&many).starts_with("dims.txt, line 2: more than 16777216 ranks are named up to here"));
    }

    #[test]
    fn a_star_is_any_text() {
        assert!(fits("a*c*", "abcd") && fits("*", "") && fits("*x", "xx") && fits("é*", "éa") && fits("ab", "ab"));
        // no pattern takes long
        assert!(!fits(&format!("{}b", "*a".repeat(40)), &"a".repeat(4000)) && fits("*a*b*", "xaxxbx"));
        assert!(
            !fits("a*c", "abd")
                && !fits("a*a", "a")
                && !fits("*ab*ab*", "abab".get(1..).unwrap())
                && !fits("a", "ab")
                && !fits("b*", "ab")
        );
    }
}
