#!/usr/bin/env python3
"""The soak: a seeded random mix of ordinary and hostile calls over many sessions, checked against a model of each.

    run.py [--calls N] [--seed N]

Each reply is compared with what the model (model.py) expects of it, and every evaluation shows the session's whole state.
The run is made of rounds; after each the sessions are closed, and the server must be as large as after the first.
A seed gives every session the same calls again, though not the same instants.
"""

import argparse
import itertools
import os
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.dont_write_bytecode = True

import support  # noqa: E402  (found through the path above)
from actor import Actor, Difference  # noqa: E402
from model import Model  # noqa: E402

SLOTS = 6  # sequences of sessions that run at the same time
CALLS_PER_ROUND = 1000
MORE_MEGABYTES = 8  # the server may have grown by, since the first round: what malloc keeps
# A fork reads the journal of its session, so the size of the journal is memory too; a small one is also compacted often.
FLAGS = ("--interrupt-grace", "1", "--checkpoint-memory", "1000000", "--journal-size", "1")


class Driver:
    """Sends what the actors ask for and gives each its replies."""

    def __init__(self, server):
        self.server = server
        self.calls = 0
        self.default = Model()  # of the session that lives as long as the server
        self.waiting = {}  # request id: actor
        self.replies = {}  # request id: reply
        self.progress = {}  # token: actor
        self.cancelled = set()
        self.tokens = itertools.count(1)

    def send(self, actor, tool, arguments, token=None):
        """Sends a call; the actor is resumed when all it waits for is there."""
        self.calls += 1
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        request_id = self.server.send_request("tools/call", {"name": tool, "arguments": arguments, **meta})
        self.waiting[request_id] = actor
        return request_id

    def cancel(self, request_id):
        del self.waiting[request_id]
        self.cancelled.add(request_id)
        self.server.notify("notifications/cancelled", {"requestId": request_id})

    def run(self, actors):
        """Until all of them are at their end."""
        scripts = {actor: actor.script() for actor in actors}
        wishes = {}
        for actor, script in scripts.items():
            self.go_on(actor, script, None, wishes)
        while wishes:
            try:
                self.take(self.server.receive())
            except support.Timeout:
                raise AssertionError("no message for a minute\n" + "\n".join(
                    f"session {actor.name} waits for {wish}. {actor.last_calls()}" for actor, wish in wishes.items())) from None
            for actor in list(wishes):
                # What it wishes for next may be there already.
                while actor in wishes and (answer := self.granted(wishes[actor])) is not None:
                    self.go_on(actor, scripts[actor], answer, wishes)

    @staticmethod
    def go_on(actor, script, answer, wishes):
        """Until the script waits for something else: ("replies", ids) or ("progress", token)."""
        try:
            wishes[actor] = script.send(answer)
        except StopIteration:
            wishes.pop(actor, None)

    def granted(self, wish):
        kind, what = wish
        if kind == "progress":
            return self.progress.pop(what, None)
        if all(request_id in self.replies for request_id in what):
            return [self.replies.pop(request_id) for request_id in what]
        return None

    def take(self, message):
        if message is None:
            raise AssertionError(f"the server is gone: {self.server.errors()[-2000:]}")
        if support.is_progress(message):
            self.progress.setdefault(message["params"]["progressToken"], message["params"].get("message", ""))
            return
        request_id = message.get("id")
        if self.waiting.pop(request_id, None) is None:
            how = "was cancelled" if request_id in self.cancelled else "nobody waits for"
            raise AssertionError(f"a reply to a request that {how}: {str(message)[:500]}")
        self.replies[request_id] = message


class Size:
    """What the server holds while every session but the first is closed."""

    def __init__(self, server):
        self.processes = len(support.children(server.pid))
        self.descriptors = support.open_descriptors(server.pid)
        self.megabytes = support.resident_megabytes(server.pid)

    def __str__(self):
        return f"{self.processes} processes, {self.descriptors} descriptors, {self.megabytes:.1f} MB"


def settled_size(server, usual):
    """Its size once what was closed is gone; `usual` is waited for, and what never comes is a leak."""
    def is_usual():
        size = Size(server)
        return usual and size.processes <= usual.processes and size.descriptors <= usual.descriptors
    if usual is None:
        time.sleep(1)
        return Size(server)
    try:
        support.wait_until(is_usual, "as few processes and descriptors as before", 10)
    except support.Timeout:
        raise AssertionError(f"the server has grown from {usual} to {Size(server)}") from None
    size = Size(server)
    if size.megabytes > usual.megabytes + MORE_MEGABYTES:
        raise AssertionError(f"the server has grown from {usual} to {size}")
    return size


def soak(options):
    usual = None
    with support.Server(*FLAGS) as server:
        driver = Driver(server)
        server.evaluate("1")  # A session has no steps before its Lisp has started.
        driver.default.evaluate([])
        for number in range(max(1, round(options.calls / CALLS_PER_ROUND))):
            begin = time.monotonic()
            share = min(options.calls, CALLS_PER_ROUND) // SLOTS
            driver.run([Actor(driver, random.Random(f"{options.seed} {number} {slot}"), slot, share)
                        for slot in range(SLOTS)])
            size = settled_size(server, usual)
            usual = usual or size
            print(f"round {number + 1}: {driver.calls} calls, {size}, {time.monotonic() - begin:.1f} s", flush=True)
        finish(server, driver)
        return driver.calls


def finish(server, driver):
    """At the end nothing is left: no reply, no process, no temporary file."""
    server.close_input()
    rest = server.rest()
    code = server.wait()
    server.home.wait_until_no_process_is_left()
    files = [str(path) for name in ("run", "work") for path in (server.home.path / name).rglob("*")]
    if rest or code or driver.waiting or files or server.garbage:
        raise AssertionError(f"at the end: exit code {code}, replies {rest}, unanswered {list(driver.waiting)}, files {files}")
    strange = [line for line in server.errors().splitlines() if 'event="worker ended"' not in line]
    if strange:
        raise AssertionError(f"words on standard error: {strange[:5]}")


def main():
    parser = argparse.ArgumentParser(description="A long random mix of calls, checked against a model.")
    parser.add_argument("--calls", type=int, default=5000, help="how many, about (default: 5000)")
    parser.add_argument("--seed", type=int, help="the same seed, the same calls (default: made up)")
    options = parser.parse_args()
    if not os.access(support.PROGRAM, os.X_OK):
        sys.exit(f"{support.PROGRAM} is not there: build it, or name another in CL_MCP_SERVER")
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {options.seed}", flush=True)
    try:
        calls = soak(options)
    except Difference as difference:
        print(difference)
    except AssertionError as reason:
        print(f"FAILED: {reason}")
    else:
        print(f"{calls} calls passed, seed {options.seed}")
        return 0
    print(f"again with: tests/soak/run.py --calls {options.calls} --seed {options.seed}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
