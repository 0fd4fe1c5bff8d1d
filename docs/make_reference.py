#!/usr/bin/python3
"""docs/make_reference.py [--check]: writes docs/python_reference.md, the docstrings of the package ripeline, or says that it is not current."""

import argparse
import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "src" / "ripeline"
PAGE = ROOT / "docs" / "python_reference.md"
HEAD = """# Python reference

These are the docstrings of the package `ripeline`, as `help(ripeline.Program)` shows them. The tests run their examples. The [tutorial](python.md) comes first.

"""


def prose(docstring: str) -> str:
    """A docstring as Markdown: its examples are blocks."""
    lines: list[str] = []
    example = False
    for line in textwrap.dedent(docstring).strip().splitlines():
        if line.startswith(">>> ") and not example:
            lines.append("```pycon")
            example = True
        elif example and not line.strip():
            lines.append("```")
            example = False
        lines.append(line)
    return "\n".join([*lines, "```"] if example else lines)


def doc_of(node: ast.FunctionDef | ast.ClassDef) -> str:
    return prose(ast.get_docstring(node) or "")


def signature(function: ast.FunctionDef, name: str) -> str:
    arguments = function.args
    for some in (arguments.posonlyargs, arguments.args):
        if some and some[0].arg in ("self", "cls"):
            del some[0]
    returns = f" -> {ast.unparse(function.returns)}" if function.returns and function.name != "__init__" else ""
    parts = re.split(r", (?=[*/\w]+(?:: |=|,|$))", ast.unparse(arguments))
    parts = [part.replace("=", " = ", 1) if ": " in part else part for part in parts]
    one_line = f"{name}({', '.join(parts)}){returns}"
    if len(one_line) <= 100:
        return one_line
    return f"{name}(\n    " + ",\n    ".join(parts) + f",\n){returns}"


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(d) for d in function.decorator_list}


def described(name: str, doc: str) -> str:
    first, _, rest = doc.partition("\n\n")
    item = f"- **{name}**: " + " ".join(first.split())
    return item + ("\n\n" + textwrap.indent(rest, "  ") + "\n" if rest else "")


def class_text(node: ast.ClassDef) -> str:
    head, attributes, methods = "", [], []
    for at, member in enumerate(node.body):
        following = node.body[at + 1] if at + 1 < len(node.body) else None
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name) and isinstance(following, ast.Expr):
            if isinstance(following.value, ast.Constant) and isinstance(following.value.value, str):
                attributes.append(described(member.target.id, prose(following.value.value)))
        if not isinstance(member, ast.FunctionDef):
            continue
        if member.name == "__init__":
            head = f"```text\n{signature(member, node.name)}\n```\n\n"
        elif member.name.startswith("_") or "overload" in decorators(member):
            continue
        elif decorators(member) & {"property", "cached_property"}:
            attributes.append(described(member.name, doc_of(member)))
        else:
            methods.append(f"### {node.name}.{member.name}\n\n```text\n{signature(member, member.name)}\n```\n\n{doc_of(member)}\n")
    bases = {ast.unparse(base) for base in node.bases}
    made_by_users = not bases & {"Record", "ValueError"} and "_" not in re.sub(r"__\w+__", "", head.split(")")[0])
    parts = [f"## {node.name}\n\n" + (head if made_by_users else "") + doc_of(node) + "\n"]
    return "\n".join([*parts, *(["\n".join(attributes) + "\n"] if attributes else []), *methods])


def page() -> str:
    found: dict[str, str] = {}
    for file in sorted(PACKAGE.glob("*.py")):
        overloads: dict[str, list[str]] = {}
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = class_text(node)
            elif isinstance(node, ast.FunctionDef):
                signatures = overloads.setdefault(node.name, [])
                if "overload" in decorators(node) or not signatures:
                    signatures.append(signature(node, node.name))
                found[node.name] = f"## {node.name}\n\n```text\n" + "\n".join(signatures) + f"\n```\n\n{doc_of(node)}\n"
    init = ast.parse((PACKAGE / "__init__.py").read_text())
    names = [name.name for node in init.body if isinstance(node, ast.ImportFrom) for name in node.names if name.name in found]
    return HEAD + "\n".join(found[name] for name in sorted(names, key=lambda n: (n[0].islower(), n)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not current")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text)
    elif not PAGE.is_file() or PAGE.read_text() != text:
        sys.exit(f"{PAGE} is not current: docs/make_reference.py writes it")


if __name__ == "__main__":
    main()
