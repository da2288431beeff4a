# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class ScorepNccl(CMakePackage):
    """NCCL's communication in Score-P measurements: transfer rate, latency and
    collective time. One library that is NCCL's profiler plugin and Score-P's
    metric and substrate plugin."""

    # FIXME: homepage and url of the releases, and with them their checksums
    homepage = "https://www.example.com"
    url = "https://www.example.com/scorep-nccl-0.1.0.tar.gz"

    # FIXME: GitHub accounts to notify when the package is updated
    # maintainers("github_user1", "github_user2")

    license("BSD-3-Clause", checked_by="FIXME")

    # FIXME: sha256
    version("0.1.0", sha256="0" * 64)

    variant("scorep", default=True, description="Score-P's side and the command-line tool")

    # the crates' build scripts compile C
    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("rust@1.88:", type="build")

    # nothing is linked with Score-P: its headers are read where there are any
    depends_on("scorep@8:9", type=("build", "run"), when="+scorep")

    conflicts("platform=darwin")
    conflicts("platform=windows")

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # NCCL and Score-P load their plugins by name
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)

    def cmake_args(self):
        args = [
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define("SCOREP_NCCL_ONLY", not self.spec.satisfies("+scorep")),
        ]
        if self.spec.satisfies("+scorep"):
            args.append(self.define("SCOREP_PREFIX", self.spec["scorep"].prefix))
        return args
