//! skeleton
#[path = "../support/tool/mod.rs"]
mod tool;
#[test]
fn nothing() { let _ = tool::tool(); }
