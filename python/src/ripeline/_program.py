"""Programs."""

from __future__ import annotations

import operator
import os
from types import MappingProxyType

from ripeline import _ripeline
from ripeline._base import TYPE_CHECKING, Frozen, costs_text, counts_text, number_text
from ripeline._errors import Error
from ripeline._optimised import Optimised, searching
from ripeline._pipeline import Pipeline
from ripeline._progress import watched
from ripeline._run import Run
from ripeline._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, SupportsIndex

    from ripeline._base import Counts, StrPath
    from ripeline._progress import Watch


class Program(Frozen):
    """A schedule with values for its params.

    `source` is a text, the name of a library schedule (`bf`), or the name of a file. The text or
    the file is a program in the language (`.ripe`) or a schedule of PyTorch (CSV). A text has a
    brace or several lines. A `pathlib.Path` always is a file. `text=` and `path=` say which is
    meant. A `Pipeline` is a program that Python code writes.

    `dispatch` replaces the dispatch of the text, for example `"ready by bf"`. `placement` (`chain`,
    `loop` or `v`) is for a CSV, which does not say which rank owns a stage. Other keywords set
    params. The param `microbatches` narrows the program to one number of microbatches.

    >>> from ripeline import Program
    >>> program = Program("1f1b", ranks=2)
    >>> program
    Program('1f1b', ranks=2, f=1, b=2)

    The text and all files that it names are read once, so that a Program never changes. Two
    programs are equal if their texts, params and dispatches are. `program.hash` is the hash by
    which reports and generated files refer to it; costs, which change no verdict, are not part
    of it. `hash(program)` follows from it.

    Raises `ripeline.Error` if the source is not found or has mistakes.
    """

    _program: _ripeline.Program
    _params: Mapping[str, int]

    def __init__(
        self,
        source: StrPath | Pipeline | None = None,
        /,
        *,
        text: str | None = None,
        path: StrPath | None = None,
        dispatch: str | None = None,
        placement: str | None = None,
        **params: SupportsIndex,
    ) -> None:
        if [source, text, path].count(None) != 2:
            raise TypeError("Program takes one of: a source, text=, path=")
        if isinstance(source, os.PathLike):
            path = source
        elif isinstance(source, Pipeline):
            text = str(source)
        elif source is not None and ("\n" in source or "{" in source):
            text = source
        defines = [f"{name}={operator.index(value)}" for name, value in params.items()]
        if text is not None:
            make, origin = _ripeline.Program.of_text, text
        elif path is not None:
            make, origin = _ripeline.Program.of_file, os.fspath(path)
        else:
            assert isinstance(source, str)
            make, origin = _ripeline.Program.of_name, source
        self._hold(make(origin, defines, dispatch or "", placement))

    @classmethod
    def from_csv(cls, path: StrPath, *, placement: str | None = None) -> Program:
        """The program that stands for a schedule of PyTorch, in the order of its rows.

        Messages follow from what the tasks need, so that sends and receives in the file are left
        out; `ripeline.check_csv` judges these. `notes` says what else is left out.

        >>> import pathlib, tempfile
        >>> from ripeline import Program
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "schedule.csv"
        >>> _ = file.write_text("0F0,0F1,0B0,0B1\\n1F0,1B0,1F1,1B1\\n")
        >>> Program.from_csv(file).ranks
        2
        """
        return cls._of(_ripeline.Program.of_schedule(os.fspath(path), [], "", placement))

    @classmethod
    def megatron(
        cls,
        *,
        pipeline_model_parallel_size: int,
        num_layers: int,
        num_layers_per_virtual_pipeline_stage: int | None = None,
        num_virtual_stages_per_pipeline_rank: int | None = None,
        microbatch_group_size_per_virtual_pipeline_stage: int | None = None,
        decoder_first_pipeline_num_layers: int | None = None,
        decoder_last_pipeline_num_layers: int | None = None,
    ) -> Program:
        """The schedule that Megatron-LM runs with these options of its command line.

        >>> from ripeline import Program
        >>> program = Program.megatron(
        ...     pipeline_model_parallel_size=4,
        ...     num_layers=32,
        ...     num_layers_per_virtual_pipeline_stage=4,
        ... )
        >>> program.params["chunks"]
        2

        Raises `ripeline.Error` for a combination that Megatron-LM refuses.
        """
        options = {
            "pipeline-model-parallel-size": pipeline_model_parallel_size,
            "num-layers": num_layers,
            "num-layers-per-virtual-pipeline-stage": num_layers_per_virtual_pipeline_stage,
            "num-virtual-stages-per-pipeline-rank": num_virtual_stages_per_pipeline_rank,
            "microbatch-group-size-per-virtual-pipeline-stage": (
                microbatch_group_size_per_virtual_pipeline_stage
            ),
            "decoder-first-pipeline-num-layers": decoder_first_pipeline_num_layers,
            "decoder-last-pipeline-num-layers": decoder_last_pipeline_num_layers,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return cls._of(_ripeline.Program.of_megatron(given))

    @classmethod
    def _of(cls, program: _ripeline.Program) -> Program:
        made = cls.__new__(cls)
        made._hold(program)
        return made

    def _hold(self, program: _ripeline.Program) -> None:
        self._set(_program=program, _params=MappingProxyType(dict(program.params)))

    @property
    def text(self) -> str:
        """The text in the language; of a CSV, the program that stands for it."""
        return self._program.text

    @property
    def params(self) -> Mapping[str, int]:
        """The values of all params, in the order of the text."""
        return self._params

    @property
    def name(self) -> str:
        """The name after `pipeline`."""
        return self._program.name

    @property
    def source_name(self) -> str:
        """The name of the text in messages: a file, a library schedule, or `<text>`."""
        return self._program.source_name

    @property
    def hash(self) -> str:
        """The program hash, of 16 hexadecimal digits, as reports print it."""
        return self._program.hash_text

    @property
    def ranks(self) -> int:
        """The number of ranks, each of which runs one or several stages."""
        return self._program.ranks

    @property
    def placement(self) -> tuple[int, ...]:
        """The rank that runs each stage, in the order of stages.

        >>> from ripeline import Program
        >>> Program("zb_v", ranks=2).placement
        (0, 1, 1, 0)
        """
        return tuple(self._program.placement)

    @property
    def microbatches(self) -> tuple[int, int | None]:
        """The least and the most microbatches of a step; None stands for any number.

        >>> from ripeline import Program
        >>> Program("bf").microbatches
        (1, None)
        """
        return self._program.microbatches

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on parts of a CSV that the program leaves out."""
        return tuple(self._program.notes)

    @property
    def warnings(self) -> str:
        """The warnings on the text, each with its source line and a caret; may be empty."""
        return self._program.warnings_text()

    def verify(
        self,
        microbatches: Counts | None = None,
        *,
        ranks: Literal["any"] | None = None,
        steps: int | None = None,
        repairs: bool = True,
        times: bool = True,
        progress: Watch = None,
    ) -> Verdict:
        """Judges the program: can it deadlock, exceed its memory, run a task twice or never?

        The verdict holds for every timing, and for `microbatches`: a number, a range `(1, 128)`
        of which both ends count, or by default every number that the text is for. With
        `ranks="any"` it also holds for every number of ranks, and is proved or unknown. `steps`
        limits each query of the solver. For a program that is not proved, `repairs` searches
        changes that would make it proved; the search takes far longer than the verdict. With
        `times=False` the verdict leaves out how long proofs took, so that two verdicts print the
        same. `progress` is called with a `Progress` while the call runs, and `progress=True`
        shows it.

        >>> from ripeline import Program
        >>> verdict = Program("bf", ranks=4).verify()
        >>> verdict.outcome, verdict.peaks
        ('proved', {'activation': [4, 3, 2, 1]})
        >>> Program("bf").verify(ranks="any").outcome
        'proved'

        A program may be refuted: that is a verdict, and no exception. Raises `ripeline.Error` if
        the program is not for `microbatches`.
        """
        if ranks not in (None, "any"):
            raise TypeError("verify takes ranks='any'; Program(…, ranks=8) sets their number")
        every_rank = ranks == "any"
        counts = counts_text(microbatches)
        with watched(progress, "verify") as told:
            verdict = self._program.verify(counts, steps, repairs, times, every_rank, told)
        return Verdict(self, verdict)

    def simulate(
        self,
        microbatches: SupportsIndex | None = None,
        *,
        rank_costs: Mapping[str, float | str] | str | None = None,
        profile: StrPath | None = None,
        unit: str | None = None,
        latency: float | str | None = None,
        bandwidth: float | str | None = None,
        bytes: float | str | None = None,
        control: float | str | None = None,
        jitter: str | None = None,
        seed: int = 1,
    ) -> Run:
        """Runs one step of `microbatches` on a virtual clock.

        The number may be left out if the program is for one number alone. Without further
        arguments tasks take the costs of the text, and messages take no time:

        - `rank_costs`: what a microbatch takes in all of a rank's layers, `{"F": 1, "B": 2}`, or
          with units, `{"F": "1.5ms", "B": "3ms"}`. Each of a rank's K stages takes a K-th. Floats are
          rounded to 6 decimals.
        - `profile`: a JSON file of measured costs and links.
        - `unit`: what a cost of 1 is: ns, us, ms or s.
        - `latency`: of a message, in that unit or with one: `0.05`, `"0.6ms"`.
        - `bandwidth`, `bytes`: of links, in bytes per second, and the size of a message:
          `"25GB/s"`, `"4.7MB"`.
        - `control`: of announcements and grants; else the latency.
        - `jitter`: what varies, as `"tails=2:20"`: 2 % of messages are late by 20.
        - `seed`: of what is drawn. The same seed draws the same for every schedule.

        >>> from ripeline import Program
        >>> run = Program("1f1b", ranks=4).simulate(8, latency=0.5)
        >>> run.wall, run.unit
        (41, 'unit')

        Raises `ripeline.Error` if the arguments do not fit the program. A run that deadlocks is a
        Run, too, but `stuck` and false.
        """
        simulated = self._program.simulate(
            counts_text(microbatches),
            costs_text(rank_costs),
            "" if profile is None else os.fspath(profile),
            unit or "",
            number_text(latency),
            number_text(bandwidth),
            number_text(bytes),
            number_text(control),
            jitter or "",
            seed,
        )
        return Run(self, simulated)

    def optimise(
        self,
        microbatches: SupportsIndex | None = None,
        *,
        rank_costs: Mapping[str, float | str] | str | None = None,
        profile: StrPath | None = None,
        unit: str | None = None,
        latency: float | str | None = None,
        bandwidth: float | str | None = None,
        bytes: float | str | None = None,
        control: float | str | None = None,
        jitter: str | None = None,
        seed: int = 1,
        objective: str = "wall",
        seconds: float = 10,
        solver: bool = True,
        threads: int = 2,
        seeds: int | None = None,
        quantile: int | None = None,
        every_count: bool = False,
        progress: Watch = None,
    ) -> Optimised:
        """Searches the best order of a step's tasks, with a bound on what is possible.

        The order has the program's placement, needs and capacities. The arguments for times are
        those of `simulate()`, all others those of `ripeline.optimise()`, which searches orders for
        a model without a program.

        >>> from ripeline import Program
        >>> program = Program("interleaved_1f1b", ranks=4)
        >>> best = program.optimise(8, rank_costs={"F": 1, "B": 2}, latency=0.1, solver=False)
        >>> best.own, best.wall, best.status
        (29.9, 29.1, 'optimal')

        Raises `ripeline.Error` if the arguments do not fit the program. That no order was found
        which is proved and as fast as the program's own dispatch, is a result, too.
        """
        made = searching(
            microbatches=microbatches,
            rank_costs=rank_costs,
            profile=profile,
            unit=unit,
            latency=latency,
            bandwidth=bandwidth,
            bytes=bytes,
            control=control,
            jitter=jitter,
            seed=seed,
            objective=objective,
            seconds=seconds,
            solver=solver,
            threads=threads,
            seeds=seeds,
            quantile=quantile,
            every_count=every_count,
        )
        with watched(progress, "optimise") as told:
            return Optimised(_ripeline.optimise_program(self._program, made, told))

    def forward_only(self) -> Program:
        """The forward pass as a program of its own, for evaluation.

        It has the ops of kind `forward`, on the same stages, ranks and links, with the same params.
        Resources that other ops take or give back are left out, since nothing keeps an activation
        for a backward. A rank runs any forward that is ready, of its later stages first.

        >>> from ripeline import Program
        >>> forwards = Program("1f1b", ranks=4).forward_only()
        >>> forwards.verify().outcome, forwards.simulate(8).wall
        ('proved', 11)

        Raises `ripeline.Error` if no op is `forward`, or if a forward needs another op or travels
        `via rendezvous`.
        """
        return Program._of(self._program.forward_only())

    def sequential(self, *kinds: str) -> Program:
        """The program in which ops of these kinds take the microbatches of a stage in turn.

        Kinds are those of the language: `forward`, `backward`, `backward input`, `backward weight`.

        >>> from ripeline import Program
        >>> program = Program("bf", ranks=4).sequential("forward")
        >>> "op F forward sequential" in program.text, program.verify().outcome
        (True, 'proved')

        Raises `ripeline.Error` if the program has no op of one of the kinds.
        """
        return Program._of(self._program.sequential(set(kinds)))

    def export_csv(
        self, microbatches: SupportsIndex | None = None, *, form: str = "compute_only"
    ) -> str:
        """The program's order as a schedule of PyTorch: the text of a CSV file.

        A readiness-first program is run once, on its costs, and the order of that run is
        exported. `form` is `compute_only`, from which PyTorch derives the communication, or
        `compute_comms`, in which everything is written.

        >>> from ripeline import Program
        >>> print(Program("1f1b", ranks=2).export_csv(2), end="")
        0F0,0F1,0B0,0B1
        1F0,1B0,1F1,1B1

        Raises `ripeline.Error` if PyTorch has no such tasks, or would refuse the file.
        """
        return self._program.export_csv(counts_text(microbatches), form)

    def __reduce__(self) -> tuple[object, ...]:
        return (_of_state, (_ripeline.version, self.hash, self._program.state()))

    def _with_text(self, text: str) -> Program:
        """The same params and dispatch with another text."""
        return Program._of(self._program.with_text(text))

    def _key(self) -> tuple[object, ...]:
        return (self.hash, self.text, tuple(self.params.items()), self._program.dispatch)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._program.hash)

    def __repr__(self) -> str:
        source = "text=…" if self.source_name == "<text>" else repr(self.source_name)
        arguments = [source, *(f"{name}={value}" for name, value in self.params.items())]
        if self._program.dispatch:
            arguments.append(f"dispatch={self._program.dispatch!r}")
        return f"Program({', '.join(arguments)})"


def _of_state(*state: Any) -> Program:
    """The program that was pickled, of the same bytes of all files.

    Every version of the package puts its own number first. Raises `ripeline.Error` for the state of
    another version, and for one that does not give the program whose hash it has.
    """
    version = state[0] if state and isinstance(state[0], str) else "of an unknown version"
    pickled = f"this Program was pickled by ripeline {version}"
    if version != _ripeline.version:
        raise Error(f"{pickled}, and ripeline {_ripeline.version} cannot read it: make it again")
    try:
        made = Program._of(_ripeline.Program.of_state(*state[2:]))
    except TypeError:
        raise Error(f"{pickled}, but its state has not the parts of a Program") from None
    if made.hash != state[1]:
        raise Error(f"{pickled}, with the hash {state[1]}, but its text has the hash {made.hash}")
    return made
