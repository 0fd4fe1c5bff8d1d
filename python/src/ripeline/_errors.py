"""Wrong input: the exception, and the diagnostics that it carries."""

from __future__ import annotations

from ripeline._base import TYPE_CHECKING, Record, parsed

if TYPE_CHECKING:
    from typing import Any


class Diagnostic(Record):
    """An error or a warning about a text or an argument."""

    id: str
    """A stable name of the kind of error, such as `need-unknown-op`."""
    message: str
    """One sentence without a full stop: what is wrong."""
    hint: str
    """What was expected, or the remedy; may be empty."""
    line: int | None
    """The line in the text, from 1; None if the error is not about a place in a text."""
    column: int | None
    """The column in that line, from 1, in bytes."""
    option: str | None
    """The wrong option, as the command line writes it: `-D ranks=9`."""

    def __init__(
        self,
        id: str,
        message: str,
        hint: str,
        line: int | None = None,
        column: int | None = None,
        option: str | None = None,
    ) -> None:
        self._set(id=id, message=message, hint=hint, line=line, column=column, option=option)

    @staticmethod
    def _of(entry: dict[str, Any]) -> Diagnostic:
        return Diagnostic(
            id=entry["id"],
            message=entry["message"],
            hint=entry["hint"],
            line=entry.get("line"),
            column=entry.get("column"),
            option=entry.get("option"),
        )


class Error(ValueError):
    """Wrong input: a text with mistakes, a file that cannot be read, an argument that does not fit.

    Its text is the message of the command line, with the source line and a caret under the mistake:

    >>> import ripeline
    >>> try:
    ...     ripeline.Program("pipeline mine { stages 2; }")
    ... except ripeline.Error as error:
    ...     print(error.diagnostics[0].id)
    missing-microbatches
    """

    __module__ = "ripeline"

    diagnostics: tuple[Diagnostic, ...]
    """The errors one by one, in the order of the text."""

    def __init__(self, message: str, diagnostics_json: str = "[]") -> None:
        super().__init__(message)
        self.diagnostics = tuple(Diagnostic._of(entry) for entry in parsed(diagnostics_json))
