"""Builds the library and the tool for the wheel, and names its platform.

zig links them, so that they need no newer glibc than GLIBC's, whatever this machine has. NAMES are small libraries that
hold nothing and load the library from beside them. A wheel cannot hold the symbolic links that an installation has
otherwise, and copies of the library would share nothing.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = pathlib.Path(__file__).resolve().parents[2]
TARGET = "x86_64-unknown-linux-gnu"
GLIBC = "2.28"
LIBRARY = "libscorep_substrate_nccl.so"
NAMES = ["libnccl-profiler-scorep.so", "libnccl_plugin.so", "libnccl_series_plugin.so"]


class Hook(BuildHookInterface):
    """Called by hatchling before it packs the wheel."""

    def initialize(self, version, build_data):
        """Build everything that is not Python, and have it packed."""
        target = os.environ.get("SCOREP_NCCL_WHEEL_TARGET") or TARGET
        machine = target.split("-")[0]
        build = Build(target, machine)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{GLIBC.replace('.', '_')}_{machine}"
        library, tool = build.library(), build.tool()
        build_data["force_include"] = {
            str(tool): "scorep_nccl/bin/scorep-nccl",
            str(library): f"scorep_nccl/lib/{LIBRARY}",
            **{str(build.name(name)): f"scorep_nccl/lib/{name}" for name in NAMES},
        }


class Build:
    """One build by cargo and zig, in a target directory of its own, which the next build uses again."""

    def __init__(self, target, machine):
        self.target, self.machine = target, machine
        target_directory = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or SOURCES / "target")
        self.place = (SOURCES / target_directory / "wheel" / "build").resolve()
        self.beside = self.place / "beside"
        self.beside.mkdir(parents=True, exist_ok=True)
        programs = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
        self.cargo_zigbuild = shutil.which("cargo-zigbuild", path=programs) or "cargo-zigbuild"
        self.environment = {
            **os.environ,
            # without the tests' programs in C
            "SCOREP_NCCL_NO_HOSTS": "1",
            "CARGO_PROFILE_RELEASE_DEBUG": "0",
            "CARGO_PROFILE_RELEASE_STRIP": "symbols",
            "CARGO_ZIGBUILD_PYTHON_PATH": sys.executable,
            "CARGO_ZIGBUILD_CACHE_DIR": str(self.place / "zig"),
            "ZIG_GLOBAL_CACHE_DIR": str(self.place / "zig"),
        }
        # a Score-P of this machine says nothing about others
        self.environment.pop("SCOREP_PREFIX", None)

    def library(self):
        # as a cdylib alone: cargo leaves link-time optimization out where it makes an rlib, too
        options = ["--package", "scorep-nccl-substrate", "--lib", "--crate-type", "cdylib", "--features", "otel"]
        return self.cargo("rustc", options, self.place) / LIBRARY

    def tool(self):
        # apart from the library: it is made with the same crates, so each would replace what the other built
        return self.cargo("build", ["--bin", "scorep-nccl"], self.place / "tool") / "scorep-nccl"

    def cargo(self, command, options, place):
        """Returns the directory of the results."""
        to = ["--release", "--locked", "--target", f"{self.target}.{GLIBC}", "--target-dir", place]
        run([self.cargo_zigbuild, command, *options, *to], self.environment)
        return place / self.target / "release"

    def name(self, name):
        """Another name of the library: who loads it loads the library beside it, and finds its functions."""
        stand_in, path = self.beside / LIBRARY, self.beside / name
        self.zig(stand_in, f"-Wl,-soname,{LIBRARY}")
        self.zig(path, "-Wl,--no-as-needed", stand_in, "-Wl,--disable-new-dtags,-rpath,$ORIGIN")
        return path

    def zig(self, path, *options):
        to = ["-target", f"{self.machine}-linux-gnu.{GLIBC}", "-shared", "-nostdlib", "-s", "-o", path]
        empty = ["-x", "c", "/dev/null", "-x", "none"]
        run([sys.executable, "-m", "ziglang", "cc", *to, *empty, *options], self.environment)


def run(command, environment):
    """Run a command, which must succeed."""
    subprocess.run([str(word) for word in command], check=True, cwd=SOURCES, env=environment)
