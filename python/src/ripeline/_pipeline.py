"""Programs that Python code writes: objects that print as the language."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from functools import lru_cache

from ripeline._base import TYPE_CHECKING, Frozen, decimal_text, is_whole
from ripeline._errors import Error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from re import Match
    from typing import SupportsFloat, SupportsIndex

    from ripeline._base import Counts

    Expression = SupportsIndex | SupportsFloat | str
    Values = Expression | Sequence[Expression]
    Words = str | Sequence[str]

_NESTED = 64  # more values than this are halved, since expressions cannot be nested deeply


def _expression(value: Expression) -> str:
    """A number or an expression as the language writes it."""
    if isinstance(value, str):
        return value
    if is_whole(value):
        return str(operator.index(value))
    number = float(value)
    if not math.isfinite(number):
        raise Error(f"{number} is no number of the language")
    return decimal_text(number)


def _chosen(variable: str, first: int, texts: Sequence[str]) -> str:
    """The expression whose value is `texts[0]` for `first`, and so on."""
    starts = [i for i in range(len(texts)) if i == 0 or texts[i] != texts[i - 1]]
    if len(starts) > _NESTED:
        middle = starts[len(starts) // 2]
        low = _chosen(variable, first, texts[:middle])
        high = _chosen(variable, first + middle, texts[middle:])
        return f"{variable} < {first + middle} ? ({low}) : ({high})"
    text = ""
    for start, end in zip(starts, starts[1:], strict=False):
        text += f"{variable} < {first + end} ? {_operand(texts[start])} : "
    return text + (_operand(texts[starts[-1]]) if text else texts[0])


def _operand(text: str) -> str:
    return text if _match(r"[\w.]+", text) else f"({text})"


def _match(pattern: str, text: str) -> Match[str] | None:
    """The match of the whole text."""
    import re

    return re.fullmatch(pattern, text)


def _values(variable: str, values: Values) -> str:
    """One value for all stages or ranks, or a list with the value of each."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return _expression(values)
    texts = [_expression(value) for value in values]
    if not texts:
        raise Error(f"a list of values by {variable} has at least one value")
    return _chosen(variable, 0, texts)


def _place(ranks: Sequence[int]) -> str:
    """The rank of each stage as an expression, in the usual form for a chain, a loop and a V."""
    count, stages = max(ranks) + 1, range(len(ranks))
    if all(ranks[s] == s for s in stages):
        return "s"
    if all(ranks[s] == s % count for s in stages):
        return f"s % {count}"
    last = 2 * count - 1
    if last == stages[-1] and all(ranks[s] == min(s, last - s) for s in stages):
        return f"s < {count} ? s : {last} - s"
    return _chosen("s", 0, [str(rank) for rank in ranks])


def _microbatches(counts: Counts | str) -> str:
    if isinstance(counts, tuple):
        first, last = counts
        return f"{operator.index(first)} .. {operator.index(last)}"
    return _expression(counts)


class _Printed(Frozen):
    """An object that is its text in the language."""

    _text: str

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(other) == self._text

    def __hash__(self) -> int:
        return hash(self._text)


class Op(_Printed):
    """A kind of task, such as the forward.

    `kind` says what training does: `forward`, `backward`, `backward input`, `backward weight` or
    another kind of the language. `needs` are the results that a task needs, of the same microbatch
    at this stage (`F at here`), at the stage before (`prev`) or after (`next`), or at stage 3,
    `F at (3)`. `acquires` names what a task takes when it starts, as `activation` or
    `activation 2`, and `releases` what it gives back when it ends.

    >>> from ripeline import Op
    >>> Op("F", "forward", cost=1, needs="F at prev", acquires="activation")
    op F forward { cost 1;  needs F at prev;  acquires activation; }
    >>> Op("B", "backward", cost=[2, 2, 3], needs=["F at here", "B at next"], releases="activation")
    op B backward { cost s < 2 ? 2 : 3;  needs F at here, B at next;  releases activation; }

    `cost` is a number, an expression of the language, or a list with the cost at each stage. Tasks
    of a `sequential` op run in the order of their microbatches at each stage. An op that is `once`
    has one task for each stage and step. `engine` is `compute` or an engine beside it. The op is
    only at the stages for which `when` is true, and only for the microbatches for which `where` is.
    """

    name: str
    _where: bool

    def __init__(
        self,
        name: str,
        kind: str = "",
        *,
        cost: Values | None = None,
        needs: Words = (),
        acquires: Words = (),
        releases: Words = (),
        collectives: Expression | None = None,
        sequential: bool = False,
        once: bool = False,
        engine: str = "",
        when: Values | None = None,
        where: Expression | None = None,
    ) -> None:
        head = ["op", name]
        head += [kind] if kind else []
        head += ["sequential"] if sequential else []
        head += ["once"] if once else []
        head += ["on", engine] if engine else []
        head += [] if when is None else ["when", _values("s", when)]
        head += [] if where is None else ["on m where", _expression(where)]
        clauses = [] if cost is None else [f"cost {_values('s', cost)}"]
        if needs:
            clauses.append("needs " + (needs if isinstance(needs, str) else ", ".join(needs)))
        clauses += [f"acquires {what}" for what in _words(acquires)]
        clauses += [f"releases {what}" for what in _words(releases)]
        clauses += [] if collectives is None else [f"collectives {_expression(collectives)}"]
        self._set(_text=f"{' '.join(head)} {_braced(clauses)}", _where=where is not None, name=name)


def _words(words: Words) -> Sequence[str]:
    return [words] if isinstance(words, str) else words


def _braced(clauses: Sequence[str]) -> str:
    return f"{{ {'  '.join(f'{clause};' for clause in clauses)} }}" if clauses else "{ }"


class Resource(_Printed):
    """Room that tasks take, such as the memory of activations.

    Each stage has its own room, or, with `per="rank"`, the stages of a rank share one. `capacity`
    is a number, an expression, or a list with the capacity of each stage (or rank), in units of
    your choice, which `unit` names. Without a capacity, usage is only measured.

    >>> from ripeline import Resource
    >>> Resource("activation", capacity=[4, 3, 2, 1])
    resource activation per stage { capacity s < 1 ? 4 : s < 2 ? 3 : s < 3 ? 2 : 1; }
    >>> Resource("memory", per="rank", capacity=40, unit="GB")
    resource memory per rank { capacity 40;  unit "GB"; }
    """

    def __init__(
        self,
        name: str,
        *,
        per: str = "stage",
        capacity: Values | None = None,
        unit: str = "",
    ) -> None:
        variable = "r" if per == "rank" else "s"
        clauses = [] if capacity is None else [f"capacity {_values(variable, capacity)}"]
        clauses += [f'unit "{unit}"'] if unit else []
        self._set(_text=f"resource {name} per {per} {_braced(clauses)}")


class Order(_Printed):
    """The tasks of each rank, one after the other.

    `tasks` has a row for each rank, and each row the rank's tasks, as PyTorch writes them: `2F0` is
    stage 2, op F, microbatch 0. A None, as in PyTorch's tables, is left out. In the text a task is
    its op, followed by `@` and the number of its stage among the stages of the rank, if the rank
    has several. Each time a rank's row has an op of a stage, this is the next microbatch:

    >>> from ripeline import Order
    >>> Order("mine", [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]])
    order mine on r {
      rank 0 { (F F B B); }
      rank 1 { (F B F B); }
    }

    So the microbatches of each op must be in turn at each stage. A table with other orders can be
    given as the text of PyTorch's file, `Program("0F0,0F1,0B1,0B0\\n1F0,…")`. Instead of rows,
    `tasks` may be the text of an order in the language, which can be for any number of
    microbatches: `"F * microbatches;  B * microbatches;"`.

    Raises `ripeline.Error` for a text that is no task, or a microbatch that is not in turn.
    """

    name: str
    _stages: list[list[int]] | None
    _ops: set[str]

    def __init__(self, name: str, tasks: str | Iterable[Iterable[object]]) -> None:
        if isinstance(tasks, str):
            self._set(_text=f"order {name} on r {{ {tasks} }}", _stages=None, name=name)
            return
        rows = [_Row(name, rank, row) for rank, row in enumerate(tasks)]
        lines = [f"  rank {rank} {{ {row.text}; }}\n" for rank, row in enumerate(rows) if row.text]
        self._set(
            _text=f"order {name} on r {{\n{''.join(lines)}}}",
            _stages=[row.stages for row in rows],
            _ops={op for row in rows for op in row.ops},
            name=name,
        )


@lru_cache(maxsize=1 << 16)
def _task(text: str) -> tuple[int, str, int]:
    match = _match(r"(\d+)([A-Za-z_]+)(\d+)", text)
    if match is None:
        raise Error(f"'{text}' is no task; expected a stage, an op and a microbatch, as 2F0")
    return int(match[1]), match[2], int(match[3])


class _Row:
    """The tasks of one rank as text, its stages and its ops."""

    def __init__(self, order: str, rank: int, tasks: Iterable[object]) -> None:
        try:
            row = [_task(str(task)) for task in tasks if task is not None]
        except Error as error:
            raise Error(f"order {order}, rank {rank}: {error}") from None
        self.stages = sorted({stage for stage, _, _ in row})
        several = len(self.stages) > 1
        chunk = {stage: f"@{i}" if several else "" for i, stage in enumerate(self.stages)}
        due: dict[tuple[int, str], int] = {}
        steps = []
        for stage, op, microbatch in row:
            lane = (stage, op)
            if microbatch != due.get(lane, 0):
                raise Error(
                    f"order {order}, rank {rank}: {stage}{op}{microbatch} stands where "
                    f"{stage}{op}{due.get(lane, 0)} is due; the microbatches of each op are in "
                    "turn at each stage, from 0 on"
                )
            due[lane] = microbatch + 1
            steps.append(op + chunk[stage])
        self.ops = {op for _, op in due}
        self.text = f"({' '.join(steps)})" if len(steps) > 1 else "".join(steps)


class Hint(_Printed):
    """The preference by which a rank chooses among the tasks that may start.

    The clauses are those of the language: `prefer`, `rounds`, `priority`, `follow`, `fill` and so
    on.

    >>> from ripeline import Hint
    >>> Hint("bfw", "rounds I, F", "fill W")
    hint bfw { rounds I, F;  fill W; }
    """

    def __init__(self, name: str, *clauses: str) -> None:
        self._set(_text=f"hint {name} {_braced(clauses)}")


class Pipeline(_Printed):
    """A program that Python code writes.

    `place` has the rank of each stage. The items are ops, resources, orders and hints, and texts of
    the language for all else, such as `"assert peak activation <= 4;"`. `microbatches` is a number,
    a range `(1, 64)` of which both ends count, or `"any"`; rows of tasks are for one number.
    `dispatch` is `"in order NAME"` to commit to an order, or `"ready by NAME"` to take what is
    ready, preferred by a hint or an order.

    A pipeline prints as the language, and this text is its meaning: `Program(pipeline)` reads it,
    and the carets of errors point into it. A loop writes this schedule, whose eight stages are a V
    on four ranks. A microbatch starts every fourth tick and passes one stage in each tick, down the
    V and back. Each rank runs its tasks in the order of their ticks, however long they take:

    >>> from ripeline import Op, Order, Pipeline, Program, Resource
    >>> place = [0, 1, 2, 3, 3, 2, 1, 0]
    >>> ticks = []
    >>> for microbatch in range(4):
    ...     for stage, rank in enumerate(place):
    ...         ticks.append((4 * microbatch + stage, rank, f"{stage}F{microbatch}"))
    ...         ticks.append((4 * microbatch + 15 - stage, rank, f"{stage}B{microbatch}"))
    >>> rows = [[task for _, its, task in sorted(ticks) if its == rank] for rank in range(4)]
    >>> zigzag = Pipeline(
    ...     "zigzag",
    ...     Op("F", "forward", cost=1, needs="F at prev", acquires="activation"),
    ...     Op("B", "backward", cost=1, needs="F at here, B at next", releases="activation"),
    ...     Resource("activation", per="rank", capacity=5),
    ...     Order("zigzag", rows),
    ...     place=place,
    ...     microbatches=4,
    ...     dispatch="in order zigzag",
    ... )
    >>> zigzag
    pipeline zigzag {
      microbatches 4;
      stages 8;
      place s on s < 4 ? s : 7 - s;
      op F forward { cost 1;  needs F at prev;  acquires activation; }
      op B backward { cost 1;  needs F at here, B at next;  releases activation; }
      resource activation per rank { capacity 5; }
      order zigzag on r {
        rank 0 { (F@0 F@0 F@1 F@0 B@1 F@1 F@0 B@1 B@0 F@1 B@1 B@0 F@1 B@1 B@0 B@0); }
        rank 1 { (F@0 F@0 F@1 F@0 B@1 F@1 F@0 B@1 B@0 F@1 B@1 B@0 F@1 B@1 B@0 B@0); }
        rank 2 { (F@0 F@1 F@0 F@1 F@0 B@1 B@0 F@1 F@0 B@1 B@0 F@1 B@1 B@0 B@1 B@0); }
        rank 3 { (F@0 F@1 F@0 F@1 F@0 B@1 B@0 F@1 F@0 B@1 B@0 F@1 B@1 B@0 B@1 B@0); }
      }
      dispatch in order zigzag;
    }
    >>> program = Program(zigzag)
    >>> verdict = program.verify()
    >>> verdict.outcome, verdict.peaks
    ('proved', {'activation': [5, 5, 5, 5]})
    >>> program.simulate().drawing
    unit    |0        |5        |10       |15       |20       |25       |30  busy
    rank 0  F0F1..........F0F2B0....F1F3B1....B0F2B2....B1F3B3....B2......B3  50%
    rank 1  ..F0F1......F0....F2B0F1....F3B1B0F2....B2B1F3....B3B2......B3..  50%
    rank 2  ....F0....F0F1....F1F2B0....B0F2F3B1....B1F3B2....B2B3....B3....  50%
    rank 3  ......F0F0....F1F1....F2B0B0F2....F3B1B1F3....B2B2....B3B3......  50%
    F B and the microbatch; . is idle
    activation, most at once per rank: 5 5 5 5 activations of a stage

    `str(pipeline)` is also the content of a `.ripe` file, which every command of `ripeline` takes.

    Raises `ripeline.Error` if an order does not fit `place`. Mistakes in the text are reported by
    `Program`.
    """

    name: str
    """The name after `pipeline`."""

    def __init__(
        self,
        name: str,
        *items: Op | Resource | Order | Hint | str,
        place: Sequence[SupportsIndex],
        microbatches: Counts | str,
        dispatch: str,
    ) -> None:
        ranks = [operator.index(rank) for rank in place]
        if not ranks:
            raise Error("place has the rank of each stage; expected one stage or more")
        for item in items:
            if isinstance(item, Order):
                _check(item, ranks, items)
        lines = [
            f"microbatches {_microbatches(microbatches)};",
            f"stages {len(ranks)};",
            f"place s on {_place(ranks)};",
            *(str(item) for item in items),
            f"dispatch {dispatch};",
        ]
        body = "\n".join(lines).replace("\n", "\n  ")
        self._set(_text=f"pipeline {name} {{\n  {body}\n}}\n", name=name)


def _check(order: Order, place: list[int], items: Iterable[object]) -> None:
    """Checks that the rows list the stages of their ranks, so that their `@` are these stages."""
    if order._stages is None:
        return
    ranks = max(place) + 1
    if len(order._stages) != ranks:
        raise Error(
            f"order {order.name}: {len(order._stages)} rows; expected {ranks}, one for each rank"
        )
    for rank, stages in enumerate(order._stages):
        own = [stage for stage, its in enumerate(place) if its == rank]
        for stage in stages:
            if stage not in own:
                where = f"is on rank {place[stage]}" if stage < len(place) else "does not exist"
                raise Error(f"order {order.name}, rank {rank}: stage {stage} {where}")
        for stage in own:
            if stage not in stages:
                raise Error(f"order {order.name}, rank {rank}: no task of its stage {stage}")
    for op in items:
        if isinstance(op, Op) and op._where and op.name in order._ops:
            raise Error(
                f"order {order.name}: op {op.name} is for some microbatches only (`where`), which "
                "rows of tasks cannot name; write the order as text"
            )
