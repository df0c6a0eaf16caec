#!/usr/bin/env python3
"""Who may include whom: holds the #include lines of src/ against the table below.

A folder that includes another one it should not know, or a third-party header outside its room, fails.
"""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Folder: the folders of ours that it may include, besides itself.
MAY_INCLUDE = {
    "base": set(),
    "json": {"base"},
    "rpc": {"base", "json"},
    "mcp": {"base", "json", "rpc"},
    "transport": {"base", "json", "rpc", "mcp"},
    "worker": {"base"},
    "session": {"base", "worker"},
    "tools": {"base", "json", "rpc", "mcp", "session"},
    "app": {"base", "json", "rpc", "mcp", "transport", "worker", "session", "tools"},
}

# Third-party header, as a prefix: the folders where it may appear.
ROOM_OF = {
    "boost/json": {"json"},
    "boost/asio": {"base", "transport"},
    "boost/beast": {"base", "transport"},
    "CLI/": {"app"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def complaints(src):
    """One line for each forbidden include below `src`."""
    found = []
    for path in sorted(src.rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        folder = path.relative_to(src).parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                why = objection(folder, *match.groups())
                if why:
                    found.append(f"{path.relative_to(src.parent)}:{number}: {why}")
    return found


def objection(folder, ours, theirs):
    if folder not in MAY_INCLUDE:
        return f"folder {folder} has no row in the table of include_layers.py"
    if ours:
        target = ours.split("/")[0]
        if "/" not in ours or target not in MAY_INCLUDE:
            return f'"{ours}": our headers are named from src/ on, as "folder/file.h"'
        if target != folder and target not in MAY_INCLUDE[folder]:
            return f'"{ours}": {folder} must not know {target}'
    if theirs:
        for prefix, rooms in ROOM_OF.items():
            if theirs.startswith(prefix) and folder not in rooms:
                return f"<{theirs}>: only {' and '.join(sorted(rooms))} may include it"
    return None


class BadExamples(unittest.TestCase):
    """The check itself is checked, or a typo in it would let everything pass."""

    def check(self, file, line, expected):
        with tempfile.TemporaryDirectory() as tmp:
            path = pathlib.Path(tmp, "src", file)
            path.parent.mkdir(parents=True)
            path.write_text(f"#pragma once\n{line}\n")
            self.assertEqual(complaints(pathlib.Path(tmp, "src")), [f"src/{file}:2: {e}" for e in expected])

    def test_a_forbidden_folder_is_refused(self):
        self.check("mcp/a.h", '#include "session/session.h"', ['"session/session.h": mcp must not know session'])

    def test_a_forbidden_third_party_header_is_refused(self):
        self.check("rpc/a.cpp", "#include <boost/json.hpp>", ["<boost/json.hpp>: only json may include it"])

    def test_a_header_without_its_folder_is_refused(self):
        self.check("rpc/a.cpp", ' # include "codec.h"',
                   ['"codec.h": our headers are named from src/ on, as "folder/file.h"'])

    def test_an_unknown_folder_is_refused(self):
        self.check("new/a.h", "#include <vector>", ["folder new has no row in the table of include_layers.py"])

    def test_what_the_table_allows_passes(self):
        self.check("tools/a.h", '#include "session/session.h"', [])


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=0).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(BadExamples))
    bad = complaints(ROOT / "src")
    print("\n".join(bad), file=sys.stderr)
    sys.exit(0 if result.wasSuccessful() and not bad else 1)
