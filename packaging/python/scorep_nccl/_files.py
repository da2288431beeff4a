"""The files that the wheel holds besides Python: the library under all its names, and the tool."""

import os


def library() -> str:
    """Return the path of the library, for ``NCCL_PROFILER_PLUGIN``.

    Raises:
        FileNotFoundError: The package was not installed from a wheel.
    """
    return _shipped("lib", "libscorep_substrate_nccl.so")


def tool() -> str:
    """Return the path of the command-line tool.

    Raises:
        FileNotFoundError: The package was not installed from a wheel.
    """
    return _shipped("bin", "scorep-nccl")


def _shipped(directory: str, name: str) -> str:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), directory, name)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"{path} is missing: install scorep-nccl from a wheel (`make wheel` in its sources builds one)"
        )
    return path
