"""Runs the command-line tool in place of this Python: ``python -m scorep_nccl`` and ``scorep-nccl``."""

import os
import sys
from typing import NoReturn

from ._files import tool


def main() -> NoReturn:
    """Replace this process by the tool, with the same arguments.

    Raises:
        SystemExit: The tool cannot be started; the message says why.
    """
    try:
        program = tool()
        os.execv(program, ["scorep-nccl", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"scorep-nccl: {_cause(error)}")


def _cause(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return (
            f"{tool()} may not be executed: install scorep-nccl into a file system that is not mounted with noexec, "
            "by an installer that keeps the wheel's permissions (pip, uv)"
        )
    return str(error)


if __name__ == "__main__":
    main()
