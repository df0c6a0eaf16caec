#!/usr/bin/env python3
"""Runs the golden conversations (*.mcp) against the built program and a real SBCL.

    run.py [--jobs N] [--update] [--check-map] [PATH ...]

PATH is a transcript or a folder of them; without one, all run and docs/CONTRACT.md is checked too.
"""

import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.dont_write_bytecode = True

import support  # noqa: E402  (found through the path above)
import transcript as language  # noqa: E402

CONTRACT_MAP = support.REPOSITORY / "docs/CONTRACT.md"


class Failed(Exception):
    """The conversation cannot go on."""


class Conversation:
    """One transcript on one server."""

    def __init__(self, transcript):
        self.transcript = transcript
        self.problems = []
        self.corrections = []  # (step, what was received), for --update
        self.pending = []  # ids of calls written in short form, oldest first
        self.tokens = {}  # of calls written in short form, to their ids
        self.progress = {}  # how far each token is
        self.calls = 0
        self.questions = 0
        self.server = None

    def run(self):
        self.home = support.Home()
        try:
            for name, content in self.transcript.files.items():
                self.home.write(name, content)
            self.converse()
        finally:
            self.leave()
            self.home.remove()
        return self.problems

    def start(self, *more_arguments):
        environment = dict(self.transcript.environment)
        if self.transcript.cold_cache:
            environment["XDG_CACHE_HOME"] = str(self.home.path / "cache")
        self.server = support.Server(*self.transcript.arguments, *more_arguments, home=self.home, env=environment,
                                     revision=self.transcript.revision)

    def leave(self):
        if self.server:
            self.server.__exit__()
            self.server = None

    def converse(self):
        step = None
        try:
            self.start()
            for step in self.transcript.steps:
                getattr(self, "do_" + step.kind.replace("-", "_"))(step)
            step = None
            self.finish()
        except (Failed, AssertionError, OSError) as reason:
            self.problem(step, str(reason))

    def problem(self, step, text):
        place = f"{os.path.relpath(self.transcript.path)}:{step.line}: " if step else ""
        self.problems.append(place + text)

    def finish(self):
        """What must hold when a client leaves."""
        self.server.close_input()
        for message in self.server.rest():
            self.problem(None, f"a message that nothing in the transcript expects: {json.dumps(message)[:500]}")
        code = self.server.wait()
        if code != 0:
            self.problem(None, f"exit code {code} after the end of input; standard error: {self.server.errors()}")
        self.home.wait_until_no_process_is_left()

    # Steps.

    def do_send(self, step):
        self.server.send_bytes(step.payload)

    def do_call(self, step):
        tool, arguments = step.payload
        self.calls += 1
        self.pending.append(self.calls)
        params = {"name": tool, "arguments": arguments}
        if step.wants_progress:
            token = f"progress-{self.calls}"
            self.tokens[token] = self.calls
            params["_meta"] = {"progressToken": token}
        self.server.send({"id": self.calls, "method": "tools/call", "params": params})

    def do_expect(self, step):
        actual = self.receive(step)
        if isinstance(actual, dict) and actual.get("id") in self.pending:
            self.pending.remove(actual["id"])
        found = language.mismatches(step.payload, actual, step.exact)
        if found:
            self.corrections.append((step, actual))
            self.problem(step, "\n".join(found) + "\nreceived: " + json.dumps(actual, ensure_ascii=False)[:3000])

    def do_expect_text(self, step):
        if not self.pending:
            raise Failed("no call waits for a text")
        actual = self.receive(step)
        wanted_id = self.pending.pop(0)
        shape = {"jsonrpc": "2.0", "id": wanted_id,
                 "result": {"content": [{"type": "text", "text": "\ue000any"}], "isError": "\ue000any"}}
        found = language.mismatches(shape, actual, exact=True)
        if found:
            raise Failed(f"{found[0]}\nreceived: {json.dumps(actual, ensure_ascii=False)[:3000]}")
        text, is_error = support.text_of(actual)
        if is_error is not step.is_error:
            self.corrections.append((step, actual))
            self.problem(step, f"isError is {is_error}, not {step.is_error}; text:\n{text[:3000]}")
        elif step.exact and text != step.payload:
            self.corrections.append((step, actual))
            self.problem(step, "the text differs\n" + difference(step.payload, text))
        elif not step.exact and not language.text_matches(step.payload, text):
            self.problem(step, f"the text does not match\n{step.payload}\n--- received:\n{text[:3000]}")

    def do_expect_progress(self, step):
        actual = self.receive(step)
        if not support.is_progress(actual):
            raise Failed(f"no progress came\nreceived: {json.dumps(actual, ensure_ascii=False)[:3000]}")
        message = actual["params"].get("message", "")
        if not language.text_matches(step.payload, message):
            self.problem(step, f"the message does not match\n{step.payload}\n--- received:\n{message[:3000]}")

    def do_skip_progress(self, step):
        """How often a call tells how far it is depends on how fast the machine is."""
        actual = self.receive(step)
        while support.is_progress(actual):
            actual = self.receive(step)
        self.server.put_back(actual)

    def do_nothing(self, _step):
        """Nothing has arrived and nothing is on its way: the answer to a ping comes next."""
        self.questions += 1
        request_id = f"is-there-more-{self.questions}"
        self.server.send({"id": request_id, "method": "ping"})
        actual = self.server.receive()
        if actual != {"jsonrpc": "2.0", "id": request_id, "result": {}}:
            raise AssertionError(f"expected no message before the answer to a ping, received {json.dumps(actual)[:500]}")

    def do_write(self, step):
        self.home.write(*step.payload)

    def do_await(self, step):
        support.wait_until((self.home.cwd / step.payload[0]).exists, f"a file {step.payload[0]}")

    def do_kill_worker(self, _step):
        worker, _ = self.server.wait_until_at_rest()
        support.kill(worker, support.signal.SIGKILL)
        # Until the server has waited for it, that is: what comes then finds the death noticed.
        support.wait_until(lambda: worker not in support.pids(), "the worker is reaped")

    def do_restart(self, step):
        """The server ends as its client leaves, and another one starts in the same place."""
        self.finish()
        self.leave()
        self.start(*step.payload[0].split())

    def do_kill_and_restart(self, step):
        support.kill(self.server.pid, support.signal.SIGKILL)
        self.server.wait()
        self.home.wait_until_no_process_is_left()
        self.leave()
        self.start(*step.payload[0].split())

    def receive(self, step):
        actual = self.server.receive()
        if actual is None:
            raise Failed(f"the server's output ended; standard error: {self.server.errors()}")
        if support.is_progress(actual):
            self.check_progress(step, actual["params"])
        return actual

    def check_progress(self, step, params):
        """What must hold of progress wherever it comes."""
        token, progress = params["progressToken"], params["progress"]
        if token in self.progress and progress <= self.progress[token]:
            self.problem(step, f"the progress of {token!r} went from {self.progress[token]} to {progress}")
        if token in self.tokens and self.tokens[token] not in self.pending:
            self.problem(step, f"call {self.tokens[token]} is answered and goes on: {json.dumps(params)[:500]}")
        self.progress[token] = progress


def difference(wanted, actual):
    lines = difflib.ndiff(wanted.split("\n"), actual[:20000].split("\n"))
    return "\n".join(line for line in lines if not line.startswith("?"))


def update(conversation):
    """Puts what was received in place of the exact expectations that failed."""
    lines = list(conversation.transcript.lines)
    for step, actual in reversed(conversation.corrections):
        if not step.exact:
            continue
        if step.kind == "expect":
            actual = {key: value for key, value in actual.items() if key != "jsonrpc"}
            new = ["<== " + json.dumps(actual, ensure_ascii=False)]
        else:
            text, is_error = support.text_of(actual)
            head = "<== error text" if is_error else "<== text"
            new = [f"{head} {text}"] if "\n" not in text else [head] + [
                language.INDENT + line if line else "" for line in text.split("\n")]
        lines[step.line - 1:step.end - 1] = new
    conversation.transcript.path.write_text("\n".join(lines) + "\n")


def unmet_condition(transcript):
    for command, reason in transcript.conditions:
        if subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return reason
    return None


def run_file(path, updating):
    """(path, "passed" | "failed" | "skipped", problems or reason)"""
    try:
        transcript = language.read(path)
    except language.SyntaxProblem as problem:
        return path, "failed", [str(problem)]
    if reason := unmet_condition(transcript):
        return path, "skipped", [reason]
    conversation = Conversation(transcript)
    try:
        problems = conversation.run()
    except Exception as error:  # a fault of the runner is a failure of this file, not the end of the run
        problems = conversation.problems + [f"{type(error).__name__}: {error}"]
    if updating and conversation.corrections:
        update(conversation)
    return path, "failed" if problems else "passed", problems


def map_problems():
    """docs/CONTRACT.md and the transcripts under contract/ must name each other."""
    if not CONTRACT_MAP.exists():
        return [f"{CONTRACT_MAP} does not exist"]
    mentioned = set(re.findall(r"tests/transcripts/[\w./-]+\.mcp", CONTRACT_MAP.read_text()))
    existing = {str(path.relative_to(support.REPOSITORY)) for path in HERE.glob("**/*.mcp")}
    contract = {path for path in existing if path.startswith("tests/transcripts/contract/")}
    return ([f"docs/CONTRACT.md does not mention {path}" for path in sorted(contract - mentioned)]
            + [f"docs/CONTRACT.md mentions {path}, which does not exist" for path in sorted(mentioned - existing)])


def warm_the_cache():
    """Compiles the libraries once, so that transcripts in parallel do not each do it."""
    try:
        with support.Server() as server:
            for system in ("alexandria", "cl-ppcre", "babel"):
                server.call("load-system", system=system, seconds=120)
            server.close()
    except (AssertionError, KeyError, OSError):
        pass  # whatever is wrong, a transcript will say it better


def collect(paths):
    files = []
    for path in paths or [HERE]:
        path = pathlib.Path(path).resolve()
        files += sorted(path.glob("**/*.mcp")) if path.is_dir() else [path]
    return files


def report(path, outcome, problems, seconds):
    name = os.path.relpath(path, HERE)
    if outcome == "passed":
        print(f"ok   {name} ({seconds:.1f} s)")
    elif outcome == "skipped":
        print(f"skip {name}: {problems[0]}")
    else:
        print(f"FAIL {name}")
        for problem in problems:
            print("     " + problem.replace("\n", "\n     "))
    sys.stdout.flush()


def timed_run(path, updating):
    start = time.monotonic()
    return (*run_file(path, updating), time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description="Runs golden conversations against the built program.")
    parser.add_argument("paths", nargs="*", help="transcripts or folders; all of them without one")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time")
    parser.add_argument("--update", action="store_true", help="rewrite the exact expectations that fail")
    parser.add_argument("--check-map", action="store_true", help="only check docs/CONTRACT.md")
    options = parser.parse_args()

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    if not options.check_map:
        if not os.access(support.PROGRAM, os.X_OK):
            sys.exit(f"{support.PROGRAM} is not there: build it, or name another in CL_MCP_SERVER")
        cache = tempfile.mkdtemp(prefix="cl-mcp-test-cache-")
        os.environ["CL_MCP_TEST_CACHE"] = cache
        try:
            files = collect(options.paths)
            if any("load-system" in path.read_text() for path in files):
                warm_the_cache()
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                for future in concurrent.futures.as_completed(
                        [pool.submit(timed_run, path, options.update) for path in files]):
                    path, outcome, problems, seconds = future.result()
                    counts[outcome] += 1
                    report(path, outcome, problems, seconds)
        finally:
            shutil.rmtree(cache, ignore_errors=True)
    if not options.paths:
        problems = map_problems()
        counts["failed" if problems else "passed"] += 1
        report(CONTRACT_MAP, "failed" if problems else "passed", problems, 0)
    if counts["skipped"]:
        print(f"{counts['skipped']} skipped")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
