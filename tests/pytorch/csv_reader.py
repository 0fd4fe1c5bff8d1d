"""csv_reader.py FILE: how PyTorch reads CSV texts. A line of FILE is a text in hexadecimal digits. For each, a line is printed: its rows, as
Python's csv module splits them, separated by `|`, and in each the cells, separated by `,`: the action as PyTorch prints it, nothing for an idle
cell, `!` for what is no action from its first to its last character.
"""

import csv
import io
import pathlib
import re
import sys

ACTION = re.compile(r"([0-9]+)(?:(UNSHARD|RESHARD|REDUCE_GRAD)|(F|I|B|W|SEND_F|RECV_F|SEND_B|RECV_B)([0-9]+))")
PAIR = re.compile(r"\(([^)]*)\)OVERLAP_F_B")


def action(text):
    found = ACTION.fullmatch(text)
    if not found:
        return "!"
    return f"{int(found[1])}{found[2] or found[3] + str(int(found[4]))}"


def cell(text):
    text = text.strip()
    pair = PAIR.fullmatch(text)
    if not pair:
        return action(text) if text else ""
    parts = [action(part.strip()) for part in pair[1].split(";")]
    return "!" if "!" in parts else f"({';'.join(parts)})OVERLAP_F_B"


for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    text = bytes.fromhex(line).decode("utf-8")
    # As open(newline="") gives lines.
    rows = csv.reader(io.TextIOWrapper(io.BytesIO(text.encode("utf-8")), encoding="utf-8", newline=""))
    print("".join(",".join(map(cell, row)) + "|" for row in rows))
