//! The recorded runs inside this program, 0.4 MB. So the demo needs only the program, wherever it lies.

use present::output::scratch::Scratch;
use std::{fs, io};

macro_rules! files {
    ($($path:literal)*) => { &[$(($path, include_bytes!(concat!("../../tests/", $path)))),*] };
}

/// Names below `tests`, with the files' contents.
const FILES: &[(&str, &[u8])] = files!(
    "captures/net2_collectives/collectives.r0.jsonl.gz"
    "captures/net2_collectives/collectives.r1.jsonl.gz"
    "planted/real/late_rank/late_rank.r0.jsonl.gz"
    "planted/real/late_rank/late_rank.r1.jsonl.gz"
    "planted/real/late_rank/late_rank.r2.jsonl.gz"
    "planted/real/late_rank/late_rank.r3.jsonl.gz"
);

/// Writes the recorded runs into a temporary directory.
///
/// # Errors
/// When the directory cannot be created or has no room.
pub(super) fn unpack() -> Result<Scratch, String> {
    let failed = |error: io::Error| format!("{}: {error}", std::env::temp_dir().display());
    let directory = Scratch::new().map_err(failed)?;
    for (name, content) in FILES {
        let path = directory.path().join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content)).map_err(failed)?;
    }
    Ok(directory)
}
