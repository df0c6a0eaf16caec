#!/usr/bin/env python3
"""Runs the end-to-end tests against the built program, a few test classes at a time.

    run.py [--jobs N] [NAME ...]

NAME is a part of a test's name, such as test_lifetime or Signals. `python3 -m unittest discover tests/e2e` runs the
same tests, one by one.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import support  # noqa: E402  (found through the path above)


def all_tests(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from all_tests(item)
        else:
            yield item


class Result(unittest.TextTestResult):
    """One line per test, with its time."""

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def stopTest(self, test):
        self.stream.writeln(f"     {test.id()} ({time.monotonic() - self.started:.1f} s)")
        super().stopTest(test)


def run_here(names):
    """In a process of its own: these tests, one after the other. The last line is for the parent."""
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = unittest.TextTestRunner(resultclass=Result, verbosity=0, stream=sys.stdout).run(suite)
    failed = {test.id().split(" ")[0] for test, _ in result.failures + result.errors}
    print(f"{result.testsRun} {len(failed)} {len(result.skipped)}")


def run_class(names):
    start = time.monotonic()
    done = subprocess.run([sys.executable, __file__, "--here", *names], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, cwd=HERE)
    lines = done.stdout.rstrip("\n").split("\n")
    try:
        run, failed, skipped = map(int, lines[-1].split())
    except ValueError:
        run, failed, skipped = 1, 1, 0
    return names, run, failed, skipped, "\n".join(lines[:-1]), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description="Runs the end-to-end tests against the built program.")
    parser.add_argument("names", nargs="*", help="parts of test names; all tests without one")
    parser.add_argument("--jobs", type=int, default=2, help="how many test classes run at a time")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        return run_here(options.names)
    if not os.access(support.PROGRAM, os.X_OK):
        sys.exit(f"{support.PROGRAM} is not there: build it, or name another in CL_MCP_SERVER")

    classes = collections.defaultdict(list)
    for test in all_tests(unittest.defaultTestLoader.discover(str(HERE))):
        if not options.names or any(name in test.id() for name in options.names):
            classes[test.id().rsplit(".", 1)[0]].append(test.id())
    os.environ["CL_MCP_TEST_CACHE"] = cache = tempfile.mkdtemp(prefix="cl-mcp-test-cache-")
    passed = failed = skipped = 0
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            longest_first = sorted(classes.values(), key=len, reverse=True)
            for future in concurrent.futures.as_completed([pool.submit(run_class, names) for names in longest_first]):
                names, run, bad, skips, output, seconds = future.result()
                passed += run - bad - skips
                failed += bad
                skipped += skips
                print(f"{'FAIL' if bad else 'ok  '} {names[0].rsplit('.', 1)[0]}: {run} tests ({seconds:.1f} s)")
                if bad or options.names:
                    print(output)
                sys.stdout.flush()
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
