#!/usr/bin/env python3
"""The words are true: generated pages are fresh, links lead somewhere, flags and the version are what the program says."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("CL_MCP_SERVER") or str(ROOT / "build/cl-mcp-server")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9_-]*")
# Flags of other programs, which our pages may name.
FOREIGN = {
    "--noinform", "--disable-ldb", "--lose-on-corruption", "--end-runtime-options",  # sbcl
    "--no-sysinit", "--no-userinit", "--non-interactive", "--load", "--eval", "--dynamic-space-size",
    "--scope", "--transport",  # claude mcp add
    "--update", "--jobs", "--check-map", "--fix", "--list", "--tests",  # our own scripts
    "--preset", "--build", "--target", "--prefix", "--test-dir", "--output-on-failure", "--gtest_filter",  # cmake, ctest, GoogleTest
}


def program(*arguments):
    run = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
    return run.stdout


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page):
    """The fragments that the headings of a Markdown page make."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+\s+(.*?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Words(unittest.TestCase):
    maxDiff = None

    def test_tools_page_is_what_the_program_prints(self):
        self.assertEqual((ROOT / "docs/TOOLS.md").read_text(), program("tools"),
                         "to refresh it: build/cl-mcp-server tools >docs/TOOLS.md")

    def test_version_stands_in_cmake_and_the_changelog_starts_with_it(self):
        version = re.search(r"project\(cl-mcp-server VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        first = re.search(r"^## \[?v?([\w.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
        self.assertEqual(first, version)
        self.assertIn(version, program("--version"))

    def test_version_stands_nowhere_else(self):
        version = re.search(r"project\(cl-mcp-server VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        spelled = re.compile(rf'"v?{re.escape(version)}"')
        sources = [p for d in ("src", "agent") for p in (ROOT / d).rglob("*") if p.suffix in {".h", ".cpp", ".lisp"}]
        self.assertEqual([str(p.relative_to(ROOT)) for p in sources if spelled.search(p.read_text())], [])

    def test_every_relative_link_leads_somewhere(self):
        dead = []
        for page in PAGES:
            for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, fragment = link.partition("#")
                target = page.parent / path if path else page
                if not target.exists() or (fragment and target.suffix == ".md" and fragment not in anchors(target)):
                    dead.append(f"{page.relative_to(ROOT)}: {link}")
        self.assertEqual(dead, [])

    def test_every_flag_of_the_program_is_documented(self):
        words = "".join(page.read_text() for page in PAGES)
        self.assertEqual(sorted(f for f in self.flags() if f not in FLAG.findall(words)), [])

    def test_every_flag_in_the_pages_is_one_of_the_program(self):
        known = self.flags() | FOREIGN
        wrong = [f"{page.relative_to(ROOT)}: {flag}" for page in PAGES if page.name != "CHANGELOG.md"
                 for flag in FLAG.findall(page.read_text()) if flag not in known]
        self.assertEqual(wrong, [])

    def flags(self):
        help_text = program("--help")
        names = re.search(r"^(?:SUBCOMMANDS|Subcommands):\n((?:^\s+.*\n?)+)", help_text, re.MULTILINE)
        for name in re.findall(r"^  ([a-z][a-z-]*)", names[1] if names else "", re.MULTILINE):
            help_text += program(name, "--help")
        return set(FLAG.findall(help_text))


if __name__ == "__main__":
    unittest.main()
