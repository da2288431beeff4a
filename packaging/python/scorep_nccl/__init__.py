"""NCCL's communication in PyTorch jobs and in Score-P measurements.

The package holds scorep-nccl's library, which NCCL and Score-P load, and its command-line tool::

    scorep-nccl run --summary all.%r.json -- python train.py    # or python -m scorep_nccl run ...

    import os
    import scorep_nccl

    os.environ["NCCL_PROFILER_PLUGIN"] = scorep_nccl.library()    # before NCCL's first communicator
    report = scorep_nccl.report("recordings")
    report["late"]                                                # a frame of pandas or polars
"""

from ._files import library, tool
from ._report import Report, ReportError, report

__all__ = ["Report", "ReportError", "library", "report", "tool"]
