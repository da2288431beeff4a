//! The pictures in docs/pictures are what the demo draws.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod tool;

use std::path::Path;

#[test]
fn the_documents_have_the_pictures_that_the_demo_draws() {
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    tool::succeed(tool::tool().arg("demo").arg("--output").arg(directory.path()).current_dir(root));
    for name in ["fit.svg", "timeline.svg"] {
        let drawn = std::fs::read(directory.path().join(name)).unwrap();
        let kept = std::fs::read(root.join("docs/pictures").join(name)).unwrap();
        assert!(drawn == kept, "{name}: make demo, and copy scorep-nccl-demo/{name} to docs/pictures");
        assert!(drawn.len() < 200 << 10, "{name}: {} bytes", drawn.len());
    }
}
