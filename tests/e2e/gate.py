"""A place where Lisp stops until a test lets it go on: how tests and evaluations wait for each other without sleeping."""

import re
import uuid

import support


class Gate:
    def __init__(self, home):
        name = uuid.uuid4()
        self._reached = home.cwd / f"reached-{name}"
        self._open = home.cwd / f"open-{name}"

    @property
    def form(self):
        """Says that it was reached, then waits. Interrupts and timeouts stop it like any other form."""
        return (f'(progn (with-open-file (s "{self._reached}" :direction :output)) '
                f'(loop until (probe-file "{self._open}") do (sleep 0.005)))')

    def wait_until_reached(self):
        support.wait_until(self._reached.exists, "Lisp reaches the gate")

    def open(self):
        self._open.touch()


def job_of(text):
    """The number in a reply that came before its answer."""
    found = re.search(r"\[(?:RUNNING|WAITING)\] Job (\d+) ", text)
    if not found:
        raise AssertionError(f"no job in this reply: {text!r}")
    return int(found[1])


def start_job(server, code, **arguments):
    """Has a call outlive its wait at once, and gives the number of its job. The code must hold a gate, or wait for another."""
    text, is_error = server.evaluate(code, wait=0, **arguments)
    if is_error:
        raise AssertionError(text)
    return job_of(text)
