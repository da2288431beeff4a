//! Names that a misspelt one may mean.

/// Least similarity of two names for which one may be meant by the other; 1 means equal.
const ALIKE: f64 = 0.8;

/// Returns the names that are similar to `name` where all begin with `prefix`, the most similar first.
pub(crate) fn alike<'a>(name: &str, prefix: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let own = |name: &'a str| name.strip_prefix(prefix).unwrap_or(name);
    let wanted = name.trim().strip_prefix(prefix).unwrap_or(name.trim());
    let mut alike: Vec<(f64, &str)> = names
        .map(|name| (strsim::jaro_winkler(wanted, own(name)), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    alike.sort_by(|first, second| second.0.total_cmp(&first.0));
    alike.into_iter().map(|(_, name)| name).collect()
}
