#!/usr/bin/python3
"""docs/make_notebook.py [--check] PAGE: executes the Python of a page as a notebook, and writes that notebook beside the page.

The `python` blocks of PAGE, a Markdown file, are the cells of one notebook, whose kernel runs in an empty folder. What a cell prints and
shows as text must be the `text output` block behind it, in which `…` stands for anything; only a cell that shows a picture may be without. The
picture is the SVG that the page shows behind the cell. `python raises`: the cell ends with an exception, whose type and message
are the text. The notebook has the page's text, the cells, and their outputs.

Without --check the pictures and the notebook are written. With --check they must be those that lie there.
nbclient, nbformat, ipykernel and the package ripeline must be importable.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "docs"))
from run_docs import Block, blocks_of, matches  # noqa: E402

CELL_SECONDS = 120
PICTURE = re.compile(r"^!\[[^\]]*\]\(([^)]+\.svg)\)$")


class Cell:
    """A cell, and what the page shows behind it."""

    def __init__(self, block: Block) -> None:
        self.line, self.source, self.raises = block.line, block.text.rstrip("\n"), "raises" in block.words
        self.output = ""
        self.picture: str | None = None


def parts_of(page: str) -> list[str | Cell]:
    """The page as texts and cells in turn. Other blocks belong to the text."""
    blocks = {block.line: block for block in blocks_of(page)}
    lines = page.splitlines()
    parts: list[str | Cell] = []
    text: list[str] = []
    cell: Cell | None = None
    at = 0
    while at < len(lines):
        block = blocks.get(at + 1)
        if block is None:
            shown = PICTURE.match(lines[at])
            if shown and cell is not None and not "".join(text).strip():
                cell.picture = shown.group(1)
            else:
                text.append(lines[at])
            at += 1
            continue
        size = len(block.text.splitlines()) + 2
        if block.kind == "python":
            parts.append("\n".join(text).strip())
            text, cell = [], Cell(block)
            parts.append(cell)
        elif block.info == "text output" and cell is not None and not "".join(text).strip():
            cell.output = block.text
        else:
            text += lines[at : at + size]
        at += size
    parts.append("\n".join(text).strip())
    return [part for part in parts if part]


def shown_by(outputs: list[nbformat.NotebookNode]) -> tuple[str, str | None, bool]:
    """The text and the picture of a cell's outputs, and whether it raised an exception."""
    text, picture, raised = "", None, False
    for output in outputs:
        if output.output_type == "stream":
            text += output.text
        elif output.output_type == "error":
            text += f"{output.ename}: {output.evalue}\n"
            raised = True
        else:
            picture = output.data.get("image/svg+xml", picture)
            text += output.data.get("text/plain", "") + "\n"
    return text, picture, raised


def executed(cells: list[Cell]) -> list[tuple[str, str | None, bool]]:
    notebook = nbformat.v4.new_notebook()
    for cell in cells:
        code = nbformat.v4.new_code_cell(cell.source)
        code.metadata.tags = ["raises-exception"]  # the cells behind it run too; main() judges
        notebook.cells.append(code)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute(env=dict(os.environ, LC_ALL="C.UTF-8"))
    return [shown_by(cell.outputs) for cell in notebook.cells]


def notebook_text(parts: list[str | Cell], pictures: dict[Cell, str], page: pathlib.Path) -> str:
    """The notebook as a file. Its texts are those of the page, so that it does not vary with how long a proof took."""
    cells: list[dict[str, object]] = []

    def add(kind: str, source: str, **more: object) -> None:
        cells.append({"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": source.splitlines(keepends=True), **more})

    add("markdown", f"*This notebook is made of [{page.name}]({page.name}) by docs/make_notebook.py.*")
    for part in parts:
        if isinstance(part, str):
            add("markdown", part)
            continue
        outputs: list[dict[str, object]] = []
        if part in pictures:
            data = {"image/svg+xml": pictures[part].splitlines(keepends=True), "text/plain": part.output.splitlines(keepends=True)}
            outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
        elif part.output:
            outputs.append({"output_type": "stream", "name": "stdout", "text": part.output.splitlines(keepends=True)})
        add("code", part.source, execution_count=None, outputs=outputs)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    nbformat.validate(document)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not current")
    parser.add_argument("page", type=pathlib.Path, metavar="PAGE")
    arguments = parser.parse_args()
    page: pathlib.Path = arguments.page
    parts = parts_of(page.read_text())
    cells = [part for part in parts if isinstance(part, Cell)]
    if not cells:
        sys.exit(f"{page}: has no `python` block")
    failures = []
    pictures: dict[Cell, str] = {}
    files: dict[pathlib.Path, str] = {}
    for cell, (text, picture, raised) in zip(cells, executed(cells), strict=True):
        if raised != cell.raises:
            failures.append(f"{page}:{cell.line}: " + (f"the cell raises an exception:\n{text}" if raised else "the cell raises nothing"))
        if (cell.output or picture is None) and not matches(cell.output.splitlines(), text.splitlines()):
            failures.append(f"{page}:{cell.line}: the output is another one:\n{text}")
        if (cell.picture is None) != (picture is None):
            failures.append(f"{page}:{cell.line}: the page and the cell do not agree on whether there is a picture")
        if picture is not None and cell.picture is not None:
            pictures[cell] = picture
            files[page.parent / cell.picture] = picture
    if not failures:
        files[page.with_suffix(".ipynb")] = notebook_text(parts, pictures, page)
    for file, content in files.items():
        if not arguments.check:
            file.parent.mkdir(exist_ok=True)
            file.write_text(content)
        elif not file.is_file() or file.read_text() != content:
            failures.append(f"{file} is not current: docs/make_notebook.py {page} writes it")
    if failures:
        sys.exit("\n".join(failures))
    print(f"{page}: {len(cells)} cells, {len(pictures)} pictures")


if __name__ == "__main__":
    main()
