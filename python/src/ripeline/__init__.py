"""Ripeline: pipeline-parallel schedules, proved, simulated and drawn.

A *program* is a schedule with values for its params. This asks whether 1F1B on four ranks can
deadlock, for every timing and every number of microbatches, and how long a step takes:

>>> import ripeline
>>> program = ripeline.Program("1f1b", ranks=4)
>>> program.verify().outcome
'proved'
>>> program.simulate(8).wall
33

Verdicts, runs and reports show themselves: as text in a terminal, as pictures in a notebook. Their
texts and JSON documents are those of the command `ripeline`, byte for byte. Wrong input raises
`ripeline.Error`, whose text is the command's message. Every object is immutable and can be used in
several threads; long calls leave other Python threads running, and Ctrl-C stops them.
"""

from ripeline._check import CheckReport, Finding, FixedSchedule, check_csv
from ripeline._compare import Comparison, compare
from ripeline._drawing import Drawing
from ripeline._errors import Diagnostic, Error
from ripeline._optimised import CurvePoint, MemoryCurve, Optimised, optimise
from ripeline._pipeline import Hint, Op, Order, Pipeline, Resource
from ripeline._program import Program
from ripeline._progress import Progress
from ripeline._ripeline import version as __version__
from ripeline._run import Run
from ripeline._trace import Trace, read_trace
from ripeline._verdict import Counterexample, Obligation, Repair, Verdict, Wait

__all__ = [
    "CheckReport",
    "Comparison",
    "Counterexample",
    "CurvePoint",
    "Diagnostic",
    "Drawing",
    "Error",
    "Finding",
    "FixedSchedule",
    "Hint",
    "MemoryCurve",
    "Obligation",
    "Op",
    "Optimised",
    "Order",
    "Pipeline",
    "Program",
    "Progress",
    "Repair",
    "Resource",
    "Run",
    "Trace",
    "Verdict",
    "Wait",
    "__version__",
    "check_csv",
    "compare",
    "optimise",
    "read_trace",
]
