//! The modules, as Lmod loads them: its own, and that of Environment Modules.

use super::build::succeed as done;
use super::{installed, tool};
use std::path::Path;
use std::process::Command;

/// Debian's Lmod.
pub(crate) const LMOD: &str = "/usr/share/lmod/lmod/init/bash";

/// What the environment holds after the module was loaded, and after it was unloaded.
fn variables(modules: &Path, action: &str) -> String {
    let names = "\"$SCOREP_NCCL_ROOT\" \"$LD_LIBRARY_PATH\" \"$PATH\"";
    let script =
        format!("source {LMOD} && module use \"$0\" && module load scorep-nccl && {action} && printf '%s\\n' {names}");
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", &script]).arg(modules).env("LD_LIBRARY_PATH", "/elsewhere");
    command.env_remove("MODULEPATH").env("PATH", "/usr/bin:/bin");
    tool::succeed(&mut command)
}

#[test]
#[ignore = "installation"]
fn both_modules_find_the_tree_that_they_lie_in() {
    if !Path::new(LMOD).is_file() {
        return tool::skip("no Lmod");
    }
    for other in ["0.1.0", "0.1.0.lua"] {
        let moved = tempfile::tempdir().unwrap();
        let tree = moved.path().join("tree");
        done(Command::new("cp").arg("-a").arg(installed()).arg(&tree));
        let modules = tree.join("share/modulefiles");
        std::fs::remove_file(modules.join("scorep-nccl").join(other.replace("0.1.0", env!("CARGO_PKG_VERSION"))))
            .unwrap();
        let tree = tree.display();
        assert_eq!(variables(&modules, "true"), format!("{tree}\n{tree}/lib:/elsewhere\n{tree}/bin:/usr/bin:/bin\n"));
        assert_eq!(variables(&modules, "module unload scorep-nccl"), "\n/elsewhere\n/usr/bin:/bin\n");
    }
}
