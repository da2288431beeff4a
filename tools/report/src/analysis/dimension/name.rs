//! Dimensions by the names that frameworks give their communicators.
//!
//! Megatron Core's are in `megatron/core/parallel_state.py` (`TENSOR_MODEL_PARALLEL_GROUP`), those of PyTorch's
//! DeviceMesh are `mesh_` and the name of the mesh's dimension (`mesh_dp_shard`), those of PyTorch's default group
//! `default_pg`, which says nothing about a dimension.

/// Words of names, by dimension. A name in which words of one dimension stand has that dimension.
const WORDS: [(&str, &[&str]); 5] = [
    ("TP", &["TENSOR", "TP", "ETP"]),
    ("PP", &["PIPELINE", "PIPE", "PP"]),
    ("DP", &["DATA", "DP", "FSDP", "DDP", "HSDP", "REPLICATE", "SHARD"]),
    ("CP", &["CONTEXT", "CP"]),
    ("EP", &["EXPERT", "EP"]),
];

/// Returns the dimension of a name; `None` if it names none, or several.
pub(super) fn dimension(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    let words: Vec<&str> = upper.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let has = |of: &str| {
        WORDS.iter().any(|(dimension, texts)| *dimension == of && words.iter().any(|word| texts.contains(word)))
    };
    let found: Vec<&str> = WORDS.iter().map(|(dimension, _)| *dimension).filter(|dimension| has(dimension)).collect();
    match found[..] {
        // groups that join two neighbouring dimensions on purpose: TENSOR_AND_DATA_PARALLEL_GROUP
        _ if words.contains(&"AND") => None,
        [one] => Some(one),
        // gradients are summed up over data and context alike: DATA_PARALLEL_GROUP_WITH_CP, mesh_dp_shard_cp
        ["DP", "CP"] => Some("DP"),
        // the experts' own groups: EXPERT_DATA_PARALLEL_GROUP, EXPERT_TENSOR_PARALLEL_GROUP
        ["DP", "EP"] => Some("DP"),
        ["TP", "EP"] => Some("TP"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::dimension;

    #[test]
    fn megatrons_names() {
        let names = [
            ("TENSOR_MODEL_PARALLEL_GROUP", Some("TP")),
            ("PIPELINE_MODEL_PARALLEL_GROUP", Some("PP")),
            ("DATA_PARALLEL_GROUP", Some("DP")),
            ("DATA_PARALLEL_GROUP_WITH_CP", Some("DP")),
            ("INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", Some("DP")),
            ("CONTEXT_PARALLEL_GROUP", Some("CP")),
            ("EXPERT_MODEL_PARALLEL_GROUP", Some("EP")),
            ("EXPERT_TENSOR_PARALLEL_GROUP", Some("TP")),
            ("EXPERT_DATA_PARALLEL_GROUP", Some("DP")),
            ("MODEL_PARALLEL_GROUP", None),
            ("TENSOR_AND_DATA_PARALLEL_GROUP", None),
            ("TENSOR_AND_CONTEXT_PARALLEL_GROUP", None),
            ("EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", None),
            ("EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", None),
            ("EMBEDDING_GROUP", None),
        ];
        assert_eq!(names.map(|(name, _)| dimension(name)), names.map(|(_, expected)| expected));
    }

    #[test]
    fn names_of_a_device_mesh() {
        let names = [
            ("mesh_dp", Some("DP")),
            ("mesh_tp", Some("TP")),
            ("mesh_dp_shard_cp", Some("DP")),
            ("mesh_pp", Some("PP")),
            ("mesh_dim_0", None),
            ("default_pg", None),
            ("", None),
            ("mesh_adp", None),
        ];
        assert_eq!(names.map(|(name, _)| dimension(name)), names.map(|(_, expected)| expected));
    }
}
