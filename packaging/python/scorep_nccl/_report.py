"""A report's tables as frames of pandas or polars."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import tempfile
import warnings
from typing import Any, Dict, Iterable, Optional, Union

from ._files import tool

Path = Union[str, "os.PathLike[str]"]

#: The modules that each kind of frame needs, and the name of the extra that installs them; the first kind is preferred.
_KINDS = {"pandas": ("pandas", "pyarrow"), "polars": ("polars",)}


class ReportError(RuntimeError):
    """The tool could not make a report; the message is the tool's."""


class Report(Dict[str, Any]):
    """The tables of a report by name, each a frame: ``late``, ``budget``, ``speed``, ``operations`` and others.

    The units end the columns' names. docs/report.md describes all tables. A table that is absent raises a ``KeyError``
    with the reason.
    """

    #: The report as the tool prints it.
    text: str
    #: The names of the tables that are absent, and why.
    absent: Dict[str, str]

    def __init__(self, tables: Dict[str, Any], absent: Dict[str, str], text: str) -> None:
        super().__init__(tables)
        self.absent, self.text = absent, text

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"{name}: {self.absent.get(name, 'the report has no such table')}")


def report(
    inputs: Union[Path, Iterable[Path]], *, frames: Optional[str] = None, options: Iterable[Path] = ()
) -> Report:
    """Make a report and return its tables as frames.

    Args:
        inputs: A path or several: recordings, tables, Score-P's experiments, summaries, or directories of them.
        frames: ``"pandas"`` or ``"polars"``. Without it, the one that is installed; pandas if both are.
        options: Further options of ``scorep-nccl report``, such as ``["--link-gbps", "400"]``.

    Raises:
        ImportError: Neither pandas with pyarrow nor polars is installed.
        ReportError: The tool could not make a report.

    Warns:
        UserWarning: The tool left an input out.
    """
    read = _reader(frames)
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    with tempfile.TemporaryDirectory(prefix="scorep-nccl-") as directory:
        # behind `--`, no path is taken for an option
        command = [tool(), "report", *options, "--parquet", directory, "--", *paths]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )
        said = done.stderr.strip()
        names = sorted(name[: -len(".parquet")] for name in os.listdir(directory) if name.endswith(".parquet"))
        if not names:
            raise ReportError(said or f"scorep-nccl report ended with status {done.returncode}")
        if said:
            warnings.warn(said, stacklevel=2)
        tables = {name: read(os.path.join(directory, f"{name}.parquet")) for name in names}
    absent = tables.pop("absent", None)
    reasons = {} if absent is None else dict(zip(absent["part"], absent["reason"]))
    return Report(tables, reasons, done.stdout)


def _reader(frames: Optional[str]) -> Any:
    """Return the function that reads a Parquet file into a frame of the named kind, or of one that is installed."""
    if frames is not None and frames not in _KINDS:
        raise ValueError(f"frames={frames!r}: it is one of {', '.join(map(repr, _KINDS))}")
    for kind in _KINDS if frames is None else [frames]:
        if all(importlib.util.find_spec(module) for module in _KINDS[kind]):
            module = importlib.import_module(kind)
            return module.read_parquet
    wanted = frames or "pandas"
    lacking = " and ".join(_KINDS[wanted])
    raise ImportError(
        f"a report's frames need {lacking}{'' if frames else ', or polars'}: pip install 'scorep-nccl[{wanted}]'"
    )
