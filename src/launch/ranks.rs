//! Names of files that several ranks of a job would share.

use common::files;
use common::rank::Told;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is to be known of a summary's name that was given to a rank of a job, if something is: that it is the same for all ranks. One that has the host's name in it may
/// be another one for each, where a host has one rank.
pub(crate) fn shared_name(summary: &Path, lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let told = Told::by(lookup);
    let (rank, variable) = (told.rank?, told.variable?);
    let has_others = rank > 0 || told.ranks.is_some_and(|ranks| ranks > 1);
    let has_host = summary.as_os_str().as_bytes().windows(2).any(|pair| pair == b"%h");
    if !has_others || has_host || files::is_one_for_each_process(summary) || !files::is_replaced(summary) {
        return None;
    }
    let ranks = told.ranks.map_or("all ranks".to_owned(), |ranks| format!("all {ranks} ranks"));
    let of = summary.display();
    Some(format!(
        "{of} is the summary's name for {ranks} of the job ({variable}): one gets it, the others one with a random part"
    ))
}

/// The way out.
pub(crate) const CURE: &str = "put %r, which stands for the rank, into the name: all.%r.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn is_shared(name: &str, environment: &[(&str, &str)]) -> bool {
        let lookup = |name: &str| environment.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        shared_name(Path::new(name), lookup).is_some()
    }

    #[test]
    fn a_name_is_shared_where_there_are_others_to_share_it_with() {
        for environment in [
            &[("RANK", "0"), ("WORLD_SIZE", "8")][..],
            &[("PMIX_RANK", "1")],
            &[("SLURM_PROCID", "0"), ("SLURM_STEP_ID", "0"), ("SLURM_NTASKS", "2")],
            &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")],
        ] {
            assert!(is_shared("all.json", environment), "{environment:?}");
            for other in ["all.%r.json", "%p", "%h.json", "/dev/null"] {
                assert!(!is_shared(other, environment), "{other}");
            }
        }
        for alone in
            [&[][..], &[("RANK", "0"), ("WORLD_SIZE", "1")], &[("RANK", "0")], &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]]
        {
            assert!(!is_shared("all.json", alone), "{alone:?}");
        }
    }
}
