"""Programs: how they are made, that they never change, and when they are equal."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import HANGS, command, library

import ripeline
from ripeline import Error, Program


@pytest.mark.parametrize("name", library())
def test_library_has_the_command_lines_text(name: str) -> None:
    assert Program(name).text == command("library", name).out


def test_source_is_a_name_a_text_or_a_file(hanging: Path) -> None:
    text = Program(HANGS)
    assert text == Program(text=HANGS) == Program(hanging) == Program(path=str(hanging))
    assert text == Program(str(hanging))
    assert (text.source_name, Program(hanging).source_name) == ("<text>", str(hanging))
    assert (text.name, text.ranks, text.params, text.microbatches) == (
        "mine",
        2,
        {"ranks": 2},
        (1, None),
    )


def test_one_source_is_needed() -> None:
    for arguments in ({}, {"text": HANGS, "path": "mine.ripe"}):
        with pytest.raises(TypeError, match="one of"):
            Program(**arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Program("bf", ranks=2.5)  # type: ignore[arg-type]


def test_a_library_name_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Error, match="bf: cannot be read"):
        Program(path="bf")
    with pytest.raises(Error, match="there is no file"):
        Program("-")


def test_params_and_dispatch_are_set() -> None:
    program = Program("1f1b", ranks=3, f=2, dispatch="ready by one_f_one_b")
    assert (program.ranks, program.params["f"]) == (3, 2)
    assert repr(program).endswith("dispatch='ready by one_f_one_b')")
    assert Program("bf", ranks=4, microbatches=8).microbatches == (8, 8)


def test_a_program_never_changes(hanging: Path) -> None:
    program = Program(hanging)
    with pytest.raises(AttributeError, match="immutable"):
        program.params = {}  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del program.params
    with pytest.raises(TypeError):
        program.params["ranks"] = 3  # type: ignore[index]
    before = program.verify(8, times=False).text
    hanging.write_text("changed")
    assert (program.text, program.verify(8, times=False).text) == (HANGS, before)


def test_files_that_a_text_names_are_read_once(tmp_path: Path) -> None:
    order = tmp_path / "order.csv"
    order.write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    file = tmp_path / "mine.ripe"
    head, _, _ = HANGS.partition("  order mine")
    file.write_text(
        head.replace("microbatches any", "microbatches 2")
        + '  order mine from csv "order.csv";\n  dispatch in order mine;\n}\n'
    )
    program = Program(file)
    run = program.simulate(2).text
    order.unlink()
    assert program.simulate(2).text == run
    assert program.verify(2).proved


def wall_of(program: Program) -> float:
    return program.simulate(8).wall


def test_programs_travel_between_processes() -> None:
    programs = [Program(HANGS), Program("bf", ranks=4, f=3), Program("zb_v", ranks=2)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(wall_of, programs)) == [wall_of(program) for program in programs]


def test_a_copy_has_all_that_was_read(tmp_path: Path) -> None:
    order = tmp_path / "order.csv"
    order.write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    (tmp_path / "mine.ripe").write_text(
        HANGS.partition("  order mine")[0].replace("microbatches any", "microbatches 2")
        + '  order mine from csv "order.csv";\n  dispatch in order mine;\n}\n'
    )
    programs = [
        Program(tmp_path / "mine.ripe"),
        Program(order, placement="chain"),
        Program("1f1b", ranks=3, dispatch="ready by one_f_one_b", microbatches=2),
    ]
    order.unlink()
    for program in programs:
        for again in (pickle.loads(pickle.dumps(program)), copy.copy(program)):
            assert again == program and hash(again) == hash(program)
            assert repr(again) == repr(program) and again.notes == program.notes
            assert again.verify(times=False).text == program.verify(times=False).text
            assert again.simulate(2).json() == program.simulate(2).json()


def test_a_pickle_is_for_the_version_that_wrote_it() -> None:
    program = Program("bf", ranks=4)
    make, state = program.__reduce__()
    assert callable(make) and isinstance(state, tuple)
    assert make(*state) == program
    version, hash_text, parts = state
    assert (version, hash_text) == (ripeline.__version__, program.hash)
    wrong: list[tuple[tuple[Any, ...], str]] = [
        (("0.0.1", hash_text, parts), "pickled by ripeline 0.0.1, and ripeline .* cannot read it"),
        (("0.0.1", "of another", "shape", 4), "pickled by ripeline 0.0.1"),
        ((), "of an unknown version"),
        ((parts,), "of an unknown version"),
        ((version,), f"pickled by ripeline {version}, but its state"),
        ((version, hash_text), "its state has not the parts of a Program"),
        ((version, hash_text, None), "its state has not the parts of a Program"),
        ((version, hash_text, parts[1:]), "its state has not the parts of a Program"),
        ((version, hash_text, parts, 1), "its state has not the parts of a Program"),
        ((version, "0" * 16, parts), f"hash 0{{16}}, but its text has the hash {program.hash}"),
    ]
    for other, message in wrong:
        with pytest.raises(Error, match=message):
            make(*other)


def test_a_copy_reads_no_files(tmp_path: Path) -> None:
    (tmp_path / "order.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    (tmp_path / "mine.ripe").write_text(
        HANGS.partition("  order mine")[0].replace("microbatches any", "microbatches 2")
        + '  order mine from csv "order.csv";\n  dispatch in order mine;\n}\n'
    )
    make, state = Program(tmp_path / "mine.ripe").__reduce__()
    assert callable(make) and isinstance(state, tuple)
    version, hash_text, (name, text, is_schedule, files, *rest) = state
    assert list(files) == ["order.csv"]
    with pytest.raises(Error, match="'order.csv' cannot be read: it is not among the files"):
        make(version, hash_text, (name, text, is_schedule, {}, *rest))


def test_equality_and_hash() -> None:
    program = Program("bf", ranks=4)
    assert program == Program("bf", ranks=4)
    assert hash(program) == hash(Program("bf", ranks=4))
    assert program.hash == Program(program.text, ranks=4).hash
    assert len({program, Program("bf", ranks=4), Program("bf", ranks=5)}) == 2
    slow = Program("bf", ranks=4, b=9)
    assert (slow.hash, slow == program) == (program.hash, False)
    assert program != "bf"


def test_csv(tmp_path: Path) -> None:
    file = tmp_path / "schedule.csv"
    file.write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    program = Program.from_csv(file, placement="chain")
    assert program == Program(file, placement="chain")
    assert program.verify().proved
    assert program.simulate().microbatches == 2
    with pytest.raises(Error, match="no schedule of PyTorch"):
        ripe = tmp_path / "mine.ripe"
        ripe.write_text(HANGS)
        Program.from_csv(ripe)


def test_repr() -> None:
    assert repr(Program("bf", ranks=4)) == "Program('bf', ranks=4, f=1, b=2, limit=0)"
    assert repr(Program(HANGS)) == "Program(text=…, ranks=2)"
