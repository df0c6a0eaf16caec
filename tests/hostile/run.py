#!/usr/bin/env python3
"""Runs the hostile corpus: each *.lisp file of this folder is evaluated by a server of its own, which must survive it.

    run.py [--jobs N] [--show] [NAME ...]

NAME is a part of a file's name. README.md says what a file may demand.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.dont_write_bytecode = True

import support  # noqa: E402  (found through the path above)

BACK = (r"The session is back to its state before this call\. "
        r"Files written, messages sent and programs started since are not undone\.")
STATES = ("kept", "later", "lost")
HEADERS = ("reply", "dies", "then", "notice", "rest", "seconds", "state", "keep", "value", "next")
SECONDS = 15


class Case:
    """One file: its code and what it demands."""

    def __init__(self, path):
        self.name = path.stem
        self.code = path.read_text()
        self.headers = {}
        for name, value in re.findall(r"^;; (\S+): (.*)$", self.code, re.MULTILINE):
            if name not in HEADERS:
                raise SystemExit(f"{path}: there is no header {name!r}")
            self.headers.setdefault(name, []).append(value)
        if self.get("state", "kept") not in STATES:
            raise SystemExit(f"{path}: there is no state {self.get('state')!r}")
        if not self.code.startswith(";;;; ") or not {"reply", "dies", "then"} & set(self.headers):
            raise SystemExit(f"{path}: begins with words, and says what it expects")

    def get(self, name, default=None):
        return self.headers.get(name, [default])[-1]

    @property
    def seconds(self):
        return float(self.get("seconds", SECONDS))


def demand(condition, what, text=""):
    if not condition:
        raise AssertionError(what + (f"\n--- received:\n{text[:2000]}" if text else ""))


def matches(pattern, text):
    return re.search(pattern, text, re.MULTILINE | re.DOTALL)


class Run:
    """A case against a fresh server."""

    def __init__(self, case):
        self.case = case
        self.said = []  # the texts of all replies, for --show

    def run(self):
        with support.Server() as self.server:
            self.set_up()
            self.attack()
            self.look()
            self.finish()

    def evaluate(self, code, seconds=support.REPLY_SECONDS):
        text, is_error = self.server.call("evaluate-lisp", seconds=seconds, code=code)
        self.said.append(text)
        return text, is_error

    def set_up(self):
        demand(self.evaluate("(defvar *keep* 41)") == ("=> *KEEP*", False), "*keep* can be defined")
        self.server.wait_until_at_rest()
        self.descriptors = self.count_descriptors()

    def attack(self):
        request_id = self.server.send_evaluation(self.case.code)
        if self.case.get("then") == "cancel":
            support.wait_until((self.server.home.cwd / "running").exists, "the code runs", self.case.seconds)
            demand(self.server.request("ping")["result"] == {}, "the server answers while it runs")
            self.server.notify("notifications/cancelled", {"requestId": request_id})
        else:
            self.check_reply(*support.text_of(self.server.wait_for(request_id, self.case.seconds)))
        if self.case.get("rest"):
            time.sleep(0.5)  # for what happens between two calls
            self.server.wait_until_at_rest(self.case.seconds)

    def check_reply(self, text, is_error):
        self.said.append(text)
        for pattern in self.case.headers.get("reply", []):
            demand(matches(pattern, text), f"the reply matches {pattern}", text)
        how = self.case.get("dies")
        if how:
            demand(is_error, "a death is an error", text)
            pattern = rf"^\[ERROR\] LISP-PROCESS-ENDED\nThe Lisp process [^\n]*({how})[^\n]*\. {BACK}$"
            demand(matches(pattern, text), f"the reply matches {pattern}", text)

    def look(self):
        """The next evaluations work and have the state of before."""
        state = self.case.get("state", "kept")
        text, is_error = self.evaluate(self.case.get("keep", "cl-user::*keep*"), self.case.seconds)
        notice = self.case.get("notice")
        if state == "kept":
            demand(not is_error, "*keep* has a value", text)
            value = self.case.get("value", "41")
            demand(re.fullmatch(rf"(\[(notice|stdout|stderr)( between calls)?\]\n.*\n)?=> {value}", text, re.DOTALL), f"*keep* is {value}", text)
        elif state == "later":
            demand(is_error and "LISP-PROCESS-ENDED" in text, "the next call ends the process", text)
            demand(self.evaluate("cl-user::*keep*") == ("=> 41", False), "*keep* is 41 then")
        if notice:
            demand(matches(r"^\[notice\] ?\n?.*" + notice, text), f"a notice matches {notice}", text)
        else:
            demand("[notice]" not in text, "there is nothing to tell", text)
        text, _ = self.evaluate("(+ 1 2)")
        demand(matches(self.case.get("next", r"(\A|\n)=> 3\Z"), text), "the next evaluation works", text)

    def count_descriptors(self):
        """Those of the server, but for what a session may keep: checkpoints, and the output of its latest calls."""
        pid = self.server.pid
        kept = [fd for fd in os.listdir(f"/proc/{pid}/fd") if support.target(pid, fd).endswith("(deleted)")]
        return support.open_descriptors(pid) - len(self.server.checkpoints()) - len(kept)

    def finish(self):
        """Nothing has leaked, every line was a message, and nothing stays."""
        worker, checkpoints = self.server.wait_until_at_rest(self.case.seconds)
        demand(len(checkpoints) <= support.MOST_CHECKPOINTS, f"{len(checkpoints)} checkpoints of {worker}")
        # Fewer where it killed the template, which the next start would replace; for a moment more when the server looks
        # at the memory of its checkpoints.
        support.wait_until(lambda: self.count_descriptors() <= self.descriptors,
                           f"no more than {self.descriptors} descriptors are open", 5)
        self.server.close_input()
        rest = self.server.rest()
        demand(not rest, f"a reply that nobody waits for: {rest}")
        demand(self.server.wait() == 0, f"exit code {self.server.process.returncode}")
        self.server.home.wait_until_no_process_is_left()
        for line in self.server.errors().splitlines():
            demand('event="worker ended"' in line, f"words on standard error: {line}")


def try_case(case):
    start = time.monotonic()
    run = Run(case)
    try:
        run.run()
        problem = None
    except (AssertionError, OSError, KeyError) as reason:
        problem = str(reason) or repr(reason)
    return case, problem, run.said, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description="Runs the hostile corpus against the built program.")
    parser.add_argument("names", nargs="*", help="parts of names; all without one")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time")
    parser.add_argument("--show", action="store_true", help="show all replies")
    options = parser.parse_args()
    if not os.access(support.PROGRAM, os.X_OK):
        sys.exit(f"{support.PROGRAM} is not there: build it, or name another in CL_MCP_SERVER")
    cases = [Case(path) for path in sorted(HERE.glob("*.lisp"))]
    if options.names:
        cases = [case for case in cases if any(name in case.name for name in options.names)]
    # Those that are cancelled may take the whole grace: begin with them.
    cases.sort(key=lambda case: case.get("notice") is None)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(try_case, case) for case in cases]):
            case, problem, said, seconds = future.result()
            passed += problem is None
            failed += problem is not None
            print(f"{'FAIL' if problem else 'ok  '} {case.name} ({seconds:.1f} s)")
            for text in ([problem] if problem else []) + (said if options.show else []):
                print("     " + text[:3000].replace("\n", "\n     "))
            sys.stdout.flush()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
