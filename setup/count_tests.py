"""count_tests.py REPORT STATUS: prints `N passed, N failed` (and skipped) from ctest's JUnit report.

Exit status 0 only when ctest's own STATUS is 0, something passed and nothing failed. A test that ctest could not start counts as failed.
"""

import sys
import xml.etree.ElementTree as ET


def outcome(case):
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    if case.get("status") == "disabled":
        return "skipped"
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "failed"


def main():
    report, status = sys.argv[1], int(sys.argv[2])
    try:
        cases = ET.parse(report).getroot().findall("testcase")
    except (OSError, ET.ParseError) as error:
        sys.exit(f"ctest left no report: {error}")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases:
        counts[outcome(case)] += 1
    ok = status == 0 and counts["failed"] == 0 and counts["passed"] > 0
    if not ok and counts["failed"] == 0:
        print(f"ctest ended with status {status}")
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    print(line + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 0 if ok else 1


sys.exit(main())
