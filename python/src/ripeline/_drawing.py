"""Runs as pictures."""

from __future__ import annotations

import os

from ripeline import _ripeline
from ripeline._base import TYPE_CHECKING, Frozen, number_text
from ripeline._errors import Error

if TYPE_CHECKING:
    from typing import Any, Protocol

    from ripeline._base import StrPath

    class Picture(Protocol):
        """An object with both forms of a picture."""

        def svg(self) -> str: ...

        def html(self) -> str: ...


def save_picture(picture: Picture, path: StrPath) -> None:
    """Writes the picture in the form that the end of the name says."""
    name = os.fspath(path)
    if name.endswith(".svg"):
        _ripeline.write_text(name, picture.svg())
    elif name.endswith(".pdf"):
        _ripeline.write_pdf(name, picture.svg())
    elif name.endswith(".html"):
        _ripeline.write_text(name, picture.html())
    else:
        raise Error(f"{name}: its name must end in .svg, .pdf or .html")


class Drawing(Frozen):
    """The timeline of a run: text in a terminal, an SVG in a notebook.

    >>> import ripeline
    >>> drawing = ripeline.Program("gpipe", ranks=2).simulate(2).drawing
    >>> drawing.svg().startswith("<svg")
    True
    """

    _drawing: _ripeline.Drawing

    def __init__(self, drawing: _ripeline.Drawing) -> None:
        self._set(_drawing=drawing)

    def text(
        self, width: int = 100, *, begin: float | None = None, end: float | None = None
    ) -> str:
        """The timeline in lines of `width` columns: the uncoloured output of `ripeline show`.

        `begin` and `end` limit it to a part of the run, in the run's unit from its start.
        """
        return self._drawing.text(width, number_text(begin), number_text(end))

    def svg(
        self, width: int | None = None, *, begin: float | None = None, end: float | None = None
    ) -> str:
        """A picture for the web, `width` pixels wide (1200), of the run or a part of it."""
        return self._drawing.svg(width, number_text(begin), number_text(end))

    def html(self, *, begin: float | None = None, end: float | None = None) -> str:
        """A page to zoom, search and hover, which needs no other file. It opens at the part."""
        return self._drawing.html(number_text(begin), number_text(end))

    def save(self, path: StrPath) -> None:
        """Writes the picture. The end of the name decides its form: .svg, .pdf or .html.

        A .pdf is made by the program rsvg-convert. Raises `ripeline.Error` for another ending, or
        if the file cannot be written. The file appears complete or not at all.
        """
        save_picture(self, path)

    def __repr__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": self.svg()}
