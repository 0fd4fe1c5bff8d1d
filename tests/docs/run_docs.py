"""run_docs.py --source ROOT --programs FOLDER… [--require PROGRAM…] [--write-pictures] [--self-test | PAGE…]: makes sure that what the pages show is true.

The blocks of a page run from top to bottom in one empty folder, with the built programs on PATH. The first words
after the fence say what a block is; a block of no known kind is a failure, so that nothing on a page goes unchecked by accident.

  sh [exit=N]           runs; the last command's status is N (0). EXEMPT lists what does not run here, why, and which test runs it instead.
                        needs=PROGRAM: not all builds have this program; --require says that this one has.
                        imports=MODULE: the same of a module of Python, which python3 can import
  text output           what the `sh` block before it prints; see `matches` for what may differ
  text                  a drawing, not checked
  ripe OUTCOME          a program: `ripeline verify` says proved, refuted, unknown or error (bad input), and warns of nothing.
                        says=TEXT: the output contains it. file=NAME: stays in the folder under this name.
                        warns=ID: this is what it warns of
  ripe fragment         items of a pipeline: they parse, inside `pipeline page { … }`
  LANGUAGE file=PATH    the whole text of a file of the tree
  LANGUAGE quote=PATH   parts of a file of the tree, in its order; lines of `…` stand for what is left out
  json                  a JSON text
  pycon                 an example of a docstring, on the page of all docstrings: pytest runs it, and docs/make_reference.py compares
  python save=NAME      a program, which stays in the folder under this name
  python [raises]       a cell of the page's notebook: docs/make_notebook.py runs it, and compares the `text output` behind it

Also: links lead to files that exist, and to headings that they have; paths in backquotes exist; a picture of the page that its commands
wrote is the one that they wrote (--write-pictures puts it there); README.md leads to every page; and docs/language.md lists the ids of
all errors and all warnings.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# First line of the block: why it does not run here, and the file that holds what runs it.
EXEMPT = {
    "sudo apt-get install --no-install-recommends g++ cmake ninja-build libasio-dev libboost-dev libcli11-dev libfmt-dev libprotozero-dev libssl-dev libz3-dev nlohmann-json3-dev":
        ("takes root and the network", "tests/docs/quick_start.py"),
    "cmake --build build/quick --target archive": ("builds the program", "tests/install/archive.py"),
    "setup/wheel.sh": ("builds the program", "tests/install/wheel.py"),
    "python3 -m venv .venv && .venv/bin/pip install ripeline-*.whl": ("installs a wheel", "tests/install/wheel.py"),
    'export RIPELINE="$PWD" PATH="$PWD/build/quick/cli:$PATH"': ("is for the reader's shell", "tests/docs/quick_start.py"),
    'cp -r "$RIPELINE/examples/own_module" ~/tutorial/own_module && cd ~/tutorial/own_module':
        ("builds against an installed package", "tests/install/CMakeLists.txt"),
    "python3 -m venv .venv && .venv/bin/pip install torch==2.11.0 ripeline-*.whl": ("fetches 3 GB", "tests/install/wheel.py"),
    "python3 -m torch.distributed.run --nproc-per-node 4 examples/python/train_gpt.py --schedule zb_v --steps 3 --check --exact":
        ("takes four processes", "python/tests/test_torch_example.py"),
    "./demo": ("takes the set-up and minutes", "setup/run_demo.sh"),
    "./test": ("runs this test", ".ci/run"),
    "cmake --preset release": ("configures and builds the whole tree", "test"),
    "cmake --install build/release --prefix ~/ripeline": ("installs", "tests/install/CMakeLists.txt"),
    "python3 -m venv ~/torch && ~/torch/bin/pip install torch==2.11.0": ("fetches 3 GB and builds the whole tree", "tests/install/CMakeLists.txt"),
    "ripeline launch -n 4 -- gpt --device cuda --check 3": ("needs a GPU", "bench/gpu.sh"),
    "bench/gpu.sh build/release gpu-report": ("takes minutes", "tests/torch_device/CMakeLists.txt"),
    "ripeline show run.json.parts --trace run.json": ("reads what a killed run left", "tests/examples/gpt_test.sh"),
    "cmake -S . -B build -DCMAKE_PREFIX_PATH=~/ripeline && cmake --build build": ("builds against an installed package", "tests/install/CMakeLists.txt"),
}

OUTCOMES = {"proved": 0, "refuted": 1, "error": 2, "unknown": 3}
# What a proof says on standard error on a machine that is busy enough.
SLOW = re.compile(r"^ripeline: .* takes longer than \d+ s\. .*\n", re.MULTILINE)
LIMIT_SECONDS = 120
SKIPPED = object()  # in the place of the output of a block that did not run
FENCE = re.compile(r"^```(.*)$")
TIMING = re.compile(r"\d+(?:\.\d+)? (s|ms)\b")


class Block:
    def __init__(self, line, info, text):
        self.line, self.info, self.text = line, info, text
        words = shlex.split(info)
        self.kind = words[0] if words else ""
        self.words = [w for w in words[1:] if "=" not in w]
        self.options = dict(w.split("=", 1) for w in words[1:] if "=" in w)


def blocks_of(page):
    blocks, open_at, info, lines = [], None, "", []
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and open_at is None:
            open_at, info, lines = number, fence.group(1).strip(), []
        elif fence:
            blocks.append(Block(open_at, info, "".join(x + "\n" for x in lines)))
            open_at = None
        elif open_at is not None:
            lines.append(line)
    if open_at is not None:
        blocks.append(Block(open_at, "never closed", ""))
    return blocks


def headings_of(page):
    """The fragments by which links name the headings of a page, as code hosts make them."""
    found, fenced, times = set(), False, {}
    for line in page.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        heading = re.match(r"#+ +(.*?) *$", line)
        if fenced or not heading:
            continue
        fragment = re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-")
        times[fragment] = times.get(fragment, -1) + 1
        found.add(f"{fragment}-{times[fragment]}" if times[fragment] else fragment)
    return found


def line_pattern(line):
    """`…` stands for anything; a number of seconds for any other, and then blanks for any blanks."""
    timed = TIMING.search(line) is not None
    parts = []
    for part in re.split(r"(…|\d+(?:\.\d+)? (?:s|ms)\b|\s+)", line):
        if part == "…":
            parts.append(".*?")
        elif TIMING.fullmatch(part):
            parts.append(r"\d+(?:\.\d+)? " + part.split()[1])
        elif timed and part.isspace():
            parts.append(r"\s+")
        else:
            parts.append(re.escape(part))
    return re.compile("".join(parts))


def matches(expected, actual):
    """Line by line; a line of `…` alone stands for any number of lines."""
    if not expected:
        return not actual
    if expected[0].strip() == "…":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    if not actual or not line_pattern(expected[0]).fullmatch(actual[0].rstrip()):
        return False
    return matches(expected[1:], actual[1:])


def quoted(text, of):
    """The parts of `text` between lines of `…` stand in `of`, in this order; blanks and line breaks do not matter. The first that does not."""
    rest = " ".join(of.split())
    for part in re.split(r"^\s*…\s*$", text, flags=re.MULTILINE):
        wanted = " ".join(part.split())
        at = rest.find(wanted)
        if at < 0:
            return wanted
        rest = rest[at + len(wanted) :]
    return None


class Page:
    def __init__(self, root, programs, required, name, text, write_pictures=False):
        self.write_pictures = write_pictures
        self.root, self.required, self.name, self.text, self.failures = root, required, name, text, []
        self.imported = {}  # whether python3 can import a module
        self.environment = dict(os.environ, PATH=os.pathsep.join([*programs, os.environ["PATH"]]), LC_ALL="C.UTF-8")

    def fail(self, block, message):
        self.failures.append(f"{self.name}:{block.line}: {message}")

    def command(self, command, folder, text=None):
        return subprocess.run(command, cwd=folder, env=self.environment, input=text, text=True, timeout=LIMIT_SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def imports(self, module, folder):
        if module not in self.imported:
            self.imported[module] = self.command(["python3", "-c", f"import {module}"], folder).returncode == 0
        return self.imported[module]

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            output = None
            for block in blocks_of(self.text):
                try:
                    output = self.check(block, folder, output)
                except subprocess.TimeoutExpired:
                    self.fail(block, f"still running after {LIMIT_SECONDS} s")
            self.check_pictures(pathlib.Path(folder))
        self.check_paths()
        return self.failures

    def check_pictures(self, folder):
        """The pictures that the page shows and its commands wrote, by their name."""
        for shown in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", self.text):
            there, made = (self.root / self.name).parent / shown, folder / pathlib.Path(shown).name
            if not made.is_file() or (there.is_file() and there.read_bytes() == made.read_bytes()):
                continue
            if self.write_pictures:
                there.parent.mkdir(exist_ok=True)
                shutil.copyfile(made, there)
            else:
                self.failures.append(f"{self.name}: {shown} is not what the commands of the page write; --write-pictures replaces it")

    def check(self, block, folder, output):
        """Returns what a `sh` block printed, for the `text output` behind it."""
        if block.kind == "sh":
            return self.check_shell(block, folder)
        if block.kind == "text" and block.words == ["output"]:
            if output is None:
                self.fail(block, "no block that ran stands before this output")
            elif output is not SKIPPED and not matches(block.text.splitlines(), output.splitlines()):
                self.fail(block, "the output is another one:\n" + output)
        elif block.kind == "python" and "save" in block.options:
            (pathlib.Path(folder) / block.options["save"]).write_text(block.text)
        elif block.kind == "python" and not block.options:
            if not (self.root / self.name).with_suffix(".ipynb").is_file():
                self.fail(block, "the page has no notebook: docs/make_notebook.py makes it")
            return SKIPPED
        elif block.kind == "pycon":
            if self.name != "docs/python_reference.md":
                self.fail(block, "an example of a docstring is on the page of all docstrings")
        elif block.kind == "ripe":
            self.check_program(block, folder)
        elif "file" in block.options and block.kind != "ripe":
            path = self.root / block.options["file"]
            if not path.is_file() or path.read_text() != block.text:
                self.fail(block, f"this is not the text of {block.options['file']}")
        elif "quote" in block.options:
            path = self.root / block.options["quote"]
            missing = quoted(block.text, path.read_text()) if path.is_file() else "anything"
            if missing is not None:
                self.fail(block, f"{block.options['quote']} does not hold, in this order: {missing}")
        elif block.kind == "json":
            try:
                json.loads(block.text)
            except ValueError as error:
                self.fail(block, f"not JSON: {error}")
        elif block.info != "text":
            self.fail(block, f"'{block.info}' says nothing that could be checked")
        return None

    def check_shell(self, block, folder):
        first = block.text.splitlines()[0] if block.text else ""
        if first in EXEMPT:
            covered_by = EXEMPT[first][1]
            if not (self.root / covered_by).is_file():
                self.fail(block, f"{covered_by}, which is to run this, does not exist")
            return None
        needed = block.options.get("needs")
        if needed and shutil.which(needed, path=self.environment["PATH"]) is None:
            if needed in self.required:
                self.fail(block, f"the program {needed} was not built")
            return SKIPPED
        module = block.options.get("imports")
        if module and not self.imports(module, folder):
            if module in self.required:
                self.fail(block, f"python3 cannot import {module}")
            return SKIPPED
        done = self.command(["bash", "-e", "-c", block.text], folder)
        expected = int(block.options.get("exit", "0"))
        if done.returncode != expected:
            self.fail(block, f"exit status {done.returncode}, not {expected}:\n{done.stdout}")
        return SLOW.sub("", done.stdout)

    def check_program(self, block, folder):
        if block.words == ["fragment"]:
            done = self.command(["ripeline", "format", "-"], folder, "pipeline page {\n" + block.text + "}\n")
            if done.returncode != 0:
                self.fail(block, "does not parse:\n" + done.stdout)
            return
        if len(block.words) != 1 or block.words[0] not in OUTCOMES:
            self.fail(block, "a program says which outcome it has: " + ", ".join(OUTCOMES) + " or fragment")
            return
        file = pathlib.Path(folder) / block.options.get("file", "page.ripe")
        file.write_text(block.text)
        done = self.command(["ripeline", "verify", file.name], folder)
        if done.returncode != OUTCOMES[block.words[0]]:
            self.fail(block, f"not {block.words[0]}: exit status {done.returncode}\n{done.stdout}")
        elif block.options.get("says", "") not in done.stdout:
            self.fail(block, f"the output does not say '{block.options['says']}':\n{done.stdout}")
        warned = ",".join(re.findall(r"warning\[([a-z-]+)\]", done.stdout))
        if warned != block.options.get("warns", ""):
            self.fail(block, f"the warnings are '{warned}':\n{done.stdout}")

    def check_paths(self):
        here = (self.root / self.name).parent
        fenced = False
        for number, line in enumerate(self.text.splitlines(), 1):
            if FENCE.match(line):
                fenced = not fenced
            if fenced:
                continue
            for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", line):
                there = here / target if target else self.root / self.name
                if not there.exists() and there != self.root / self.name:
                    self.failures.append(f"{self.name}:{number}: the link leads nowhere: {target}")
                elif heading and heading not in headings_of(there.read_text() if target else self.text):
                    self.failures.append(f"{self.name}:{number}: {target or 'this page'} has no heading #{heading}")
            folders = "|".join(sorted(p.name for p in self.root.iterdir() if p.is_dir() and not p.name.startswith(".") and p.name != "build"))
            for path in re.findall(rf"`((?:{folders})/[\w/.-]*)`", line):
                if not (self.root / path).exists():
                    self.failures.append(f"{self.name}:{number}: there is no {path}")


def ids_in(files):
    """Whole ones, and patterns with a hole for a word."""
    whole, patterns = set(), set()
    for file in sorted(files):
        for literal in re.findall(r'"((?:[a-z]+|\{\})(?:-(?:[a-z]+|\{\}))+)"', file.read_text()):
            (patterns if "{" in literal else whole).add(literal)
    return whole, patterns


def check_ids(root, text):
    """Under `## Errors` and `## Warnings`, docs/language.md has one row for each id: | `id` | meaning |."""
    errors, _, rest = text.partition("\n## Warnings\n")
    warnings, _, more = rest.partition("\n## ")
    lint = root / "spec" / "lint.cpp"
    others = [*(set((root / "spec").rglob("*.cpp")) - {lint}), root / "pytorch" / "export.cpp", root / "codegen" / "generate.cpp"]
    return check_rows(root, errors + more, others, "error") + check_rows(root, warnings, [lint], "warning")


def check_rows(root, text, files, kind):
    listed = re.findall(r"^\| `([a-z]+(?:-[a-z_]+)+)` \|", text, re.MULTILINE)
    whole, patterns = ids_in(files)
    failures = [f"the id {i} is listed twice" for i in sorted({i for i in listed if listed.count(i) > 1})]
    failures += [f"the id {i} is not listed" for i in sorted(whole - set(listed))]
    made = {p: [i for i in listed if re.fullmatch(re.escape(p).replace(r"\{\}", "[a-z_]+"), i)] for p in patterns}
    failures += [f"no id of the form {p} is listed" for p in sorted(patterns) if not made[p]]
    for i in sorted(set(listed) - whole - {i for ids in made.values() for i in ids}):
        failures.append(f"no {kind} has the id {i}")
    for file in sorted((root / "tests" / "specimens").rglob("*")):
        if not file.is_file():
            continue
        for i in re.findall(kind + r"\[([a-z_-]+)\]", file.read_text(errors="replace")):
            if i not in listed:
                failures.append(f"the id {i}, in {file.relative_to(root)}, is not listed")
    return ["docs/language.md: " + f for f in failures]


def check_map(root, text):
    """README.md leads to every page."""
    return [f"README.md: no link leads to docs/{page.name}" for page in sorted((root / "docs").glob("*.md")) if f"](docs/{page.name}" not in text]


CHAIN = """pipeline chain {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { needs F at prev; acquires a; releases a; }
  resource a per stage { capacity 1; }
  dispatch ready;
}
"""

UNUSED = CHAIN.replace("dispatch", "resource b per stage { }\n  dispatch")

# Pages with one mistake each, and a part of what must be said of it; one page without.
SELF_TEST = [
    ("```sh\necho a 0.5 s\necho b\n```\n```text output\na   1.2 s\n…\n```\n", None),
    ("```sh exit=3\nexit 3\n```\n", None),
    ("```sh needs=no-such-program\nfalse\n```\n```text output\na\n```\n", None),
    ("```sh needs=ripeline\nfalse\n```\n", "exit status 1, not 0"),
    ("```sh imports=no_such_module\nfalse\n```\n```text output\na\n```\n", None),
    ("```sh imports=json\nfalse\n```\n", "exit status 1, not 0"),
    ("```python save=a.py\nprint(1)\n```\n```sh\npython3 a.py\n```\n```text output\n1\n```\n", None),
    (f"```ripe proved file=c.ripe\n{CHAIN}```\n```sh\nripeline verify c.ripe\n```\n", None),
    ("```ripe fragment\nparam a = 1;\n```\n", None),
    ("```sh\nfalse\n```\n", "exit status 1, not 0"),
    ("```sh exit=1\ntrue\n```\n", "exit status 0, not 1"),
    ("```sh\necho a\n```\n```text output\nb\n```\n", "the output is another one"),
    ("```sh\necho a; echo b\n```\n```text output\na\n```\n", "the output is another one"),
    ("```sh\necho 5 rows\n```\n```text output\n6 rows\n```\n", "the output is another one"),
    ("```text output\nb\n```\n", "no block that ran"),
    ("```python\n1\n```\n", "the page has no notebook"),
    ("```pycon\n>>> 1\n1\n```\n", "on the page of all docstrings"),
    (f"```ripe refuted\n{CHAIN}```\n", "not refuted: exit status 0"),
    ("```ripe proved\npipeline {\n```\n", "not proved: exit status 2"),
    (f"```ripe proved warns=resource-unused\n{UNUSED}```\n", None),
    (f"```ripe proved\n{UNUSED}```\n", "the warnings are 'resource-unused'"),
    ("```ripe error says=no-such-id\npipeline {\n```\n", "does not say 'no-such-id'"),
    (f"```ripe\n{CHAIN}```\n", "which outcome"),
    ("```ripe fragment\nparam a = ;\n```\n", "does not parse"),
    ("```cpp file=LICENSE\nint x;\n```\n", "not the text of LICENSE"),
    ("```cpp quote=LICENSE\nint x;\n```\n", "LICENSE does not hold"),
    ("```cpp\nint x;\n```\n", "says nothing that could be checked"),
    ("```json\n{\n```\n", "not JSON"),
    ("```text\nopen\n", "never closed"),
    ("[a](docs/nothing.md)\n", "leads nowhere"),
    ("# A `b` c: d\n```sh\n# e\n```\n[a](#a-b-c-d)\n", None),
    ("# A\n# A\n[a](#a) [b](#a-1)\n", None),
    ("# A\n[a](#b)\n", "this page has no heading #b"),
    ("```sh\n# e\n```\n[a](#e)\n", "this page has no heading #e"),
    ("[a](README.md#no-such-heading)\n", "README.md has no heading #no-such-heading"),
    ("```sh\necho a > a.svg\n```\n![a](docs/gallery/a.svg)\n", "a.svg is not what the commands of the page write"),
    ("```sh\necho a > 1f1b.svg\n```\n![a](docs/gallery/1f1b.svg)\n", "1f1b.svg is not what the commands of the page write"),
    ("`spec/nothing.h`\n", "there is no spec/nothing.h"),
]


def self_test(root, programs):
    failures = []
    for text, expected in SELF_TEST:
        found = Page(root, programs, [], "planted.md", text).run()
        said = "\n".join(found)
        if expected is None and found:
            failures.append(f"a true page fails:\n{text}{said}")
        if expected is not None and expected not in said:
            failures.append(f"a false page passes, or not with '{expected}':\n{text}{said}")
    for rows in ("| `no-such-id` | x |", "\n## Warnings\n| `no-such-id` | x |"):
        if not any("has the id no-such-id" in said for said in check_ids(root, rows)):
            failures.append(f"a wrong list of ids passes: {rows}")
    if not check_map(root, "[a](docs/language.md)"):
        failures.append("a README without links to most pages passes")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--programs", action="append", default=[], help="a folder with built programs")
    parser.add_argument("--require", action="append", default=[], help="a program, or a module of Python, that must be there")
    parser.add_argument("--write-pictures", action="store_true", help="where a picture is not what the commands write, replace it")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("pages", nargs="*", help="relative to the source folder")
    arguments = parser.parse_args()
    root = arguments.source.resolve()
    failures = self_test(root, arguments.programs) if arguments.self_test else []
    for name in arguments.pages:
        text = (root / name).read_text()
        failures += Page(root, arguments.programs, arguments.require, name, text, arguments.write_pictures).run()
        if name == "docs/language.md":
            failures += check_ids(root, text)
        if name == "README.md":
            failures += check_map(root, text)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
