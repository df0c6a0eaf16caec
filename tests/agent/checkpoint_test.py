#!/usr/bin/env python3
"""A worker leaves a frozen copy of itself, and the copy can take its place: docs/AGENT-PROTOCOL.md, "Checkpoints"."""

import array
import ctypes
import os
import signal
import socket
import unittest

from worker import PATIENCE, Worker, read_form

PR_SET_CHILD_SUBREAPER = 36


def send_descriptors(link, descriptors):
    link.setblocking(True)
    link.sendmsg([b"F"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])


class Copy:
    """The server's end of a frozen copy, and of the worker that it becomes."""

    def __init__(self, worker, **arguments):
        self.link, theirs = socket.socketpair()
        self.link.settimeout(PATIENCE)
        worker.start("freeze", **arguments)
        send_descriptors(worker.socket, [theirs.fileno()])
        worker.socket.setblocking(False)
        theirs.close()
        self.original = worker.finish()
        self.first_word = None if "condition" in self.original else self.receive()
        self.pid = self.first_word and self.first_word[2]

    def receive(self):
        size = int(self._exactly(8), 16)
        return read_form(self._exactly(size).decode())[0]

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            chunk = self.link.recv(count - len(data))
            if not chunk:
                raise EOFError
            data += chunk
        return data

    def send(self, text):
        self.link.sendall(b"%08x" % len(text) + text.encode())

    def resume(self, message='(:resume :token "life")'):
        self.output, theirs = os.pipe()
        self.send(message)
        send_descriptors(self.link, [theirs, theirs])
        os.close(theirs)
        return self.receive()

    def evaluate(self, code):
        self.send('(:evaluate :id 1 :code "%s")' % code)
        return self.receive()

    def end(self):
        """Closing the link ends it, frozen or not; it has become our own child, as it is to be the server's."""
        self.link.close()
        os.waitpid(self.pid, 0)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    def start(self, **options):
        self.worker = Worker(**options)
        self.addCleanup(self.worker.close)

    def freeze(self, **arguments):
        copy = Copy(self.worker, **arguments)
        self.addCleanup(copy.end)
        return copy

    def value(self, copy, code):
        return copy.evaluate(code.replace('"', '\\"'))[4][0]

    def refusal(self, **arguments):
        """Why there is no copy."""
        copy = Copy(self.worker, **arguments)
        copy.link.close()
        self.assertEqual("NO-CHECKPOINT", copy.original["condition"]["type"])
        return copy.original["condition"]["message"]


class Checkpoints(Case):
    def setUp(self):
        self.start()

    def test_a_copy_says_its_number_and_is_a_child_of_the_server(self):
        copy = self.freeze()
        self.assertEqual("frozen", copy.first_word[0])
        with open(f"/proc/{copy.pid}/stat", encoding="utf-8") as file:
            self.assertEqual(os.getpid(), int(file.read().rsplit(")", 1)[1].split()[1]))

    def test_a_copy_holds_neither_the_pipes_nor_the_socket_of_the_original(self):
        def holds(pid, descriptors):
            return {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in descriptors}
        copy = self.freeze()
        self.assertEqual(set(), holds(self.worker.process.pid, (1, 2, 3))
                         & holds(copy.pid, os.listdir(f"/proc/{copy.pid}/fd")))

    def test_a_resumed_copy_has_the_state_of_its_moment(self):
        self.worker.eval("(defvar *x* 41) (defun f () *x*)")
        copy = self.freeze()
        self.worker.eval("(setf *x* 99)")
        self.worker.process.kill()
        self.assertEqual("ready", copy.resume()[0])
        self.assertIn(["41"], copy.evaluate("(progn (gc :full t) (f))"))

    def test_a_resumed_copy_writes_to_its_new_pipes(self):
        copy = self.freeze()
        copy.resume()
        copy.evaluate("(format t \\\"here~%\\\")")
        self.assertEqual(b"here\n", os.read(copy.output, 100))

    def test_a_resumed_copy_can_be_interrupted(self):
        copy = self.freeze()
        copy.resume()
        copy.send('(:evaluate :id 1 :code "(progn (format t \\"busy~%\\") (loop))")')
        self.assertEqual(b"busy\n", os.read(copy.output, 100))
        os.kill(copy.pid, signal.SIGINT)
        self.assertEqual("interrupting", copy.receive()[0])
        self.assertIn("INTERRUPTED", str(copy.receive()))

    def test_the_original_goes_on_beside_its_copies(self):
        for number in range(20):
            self.worker.eval(f"(defparameter *n* {number})")
            self.freeze()
        self.assertEqual(["19"], self.worker.eval("*n*")["values"])

    def test_a_copy_goes_when_its_link_is_closed(self):
        copy = Copy(self.worker)
        copy.end()  # Would wait for ever.

    def test_there_is_no_copy_while_threads_run(self):
        self.worker.eval("(defvar *t* (sb-thread:make-thread (lambda () (sleep 1000))))")
        self.assertEqual("Threads are running.", self.refusal())
        self.worker.eval("(sb-thread:terminate-thread *t*) (sb-thread:join-thread *t* :default nil)")
        self.assertNotIn("condition", self.freeze().original)

    def test_it_is_named_for_what_it_is(self):
        def name(pid):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                return file.read().strip()
        copy = self.freeze()
        self.assertEqual(("lisp-template", "lisp-frozen"), (name(self.worker.process.pid), name(copy.pid)))
        copy.resume()
        self.assertEqual("lisp-worker", name(copy.pid))

    def test_a_fresh_copy_draws_other_random_numbers(self):
        code = "(loop repeat 10 collect (random 1000000))"
        drawn = []
        for fresh in (" :fresh t", " :fresh t", "", ""):
            copy = self.freeze()
            copy.resume('(:resume :token "life"%s)' % fresh)
            drawn.append(self.value(copy, code))
        self.assertEqual(3, len(set(drawn)), drawn)
        self.assertEqual(drawn[2], drawn[3], "a checkpoint goes on where it was")

    def test_what_a_resumed_copy_starts_carries_its_token(self):
        self.start(environment={"CL_MCP_WORKER": "token.0"})
        copy = self.freeze()
        copy.resume('(:resume :token "token.1")')
        run = '(with-output-to-string (s) (run-program "/bin/sh" (list "-c" "echo $CL_MCP_WORKER") :output s))'
        self.assertIn("token.1", self.value(copy, run))
        self.assertEqual('"token.1"', self.value(copy, '(posix-getenv "CL_MCP_WORKER")'))
        # That of a process itself, and so of copies that user code forks, is what /proc shows.
        with open(f"/proc/{copy.pid}/environ", "rb") as file:
            self.assertIn(b"CL_MCP_WORKER=token.1", file.read().split(b"\0"))

    def test_a_token_is_set_where_there_was_none(self):
        self.start(environment={"CL_MCP_WORKER": None})
        copy = self.freeze()
        copy.resume('(:resume :token "token.1")')
        self.assertEqual('"token.1"', self.value(copy, '(posix-getenv "CL_MCP_WORKER")'))


class HeapLimit(Case):
    def setUp(self):
        self.start(options=("--dynamic-space-size", "1GB"))

    def test_there_is_no_copy_of_a_large_heap(self):
        self.worker.eval("(defvar *x* (make-array 200000000 :element-type '(unsigned-byte 8)))")
        self.assertRegex(self.refusal(**{"heap-limit": 100 << 20}),
                         r"\A2\d\d MB of heap are in use, and checkpoints are made up to 100 MB, "
                         r"which --checkpoint-heap raises\.\Z")
        self.assertNotIn("condition", self.freeze(**{"heap-limit": 400 << 20}).original)

    def test_garbage_does_not_count(self):
        self.worker.eval("(progn (loop repeat 10 do (make-array 20000000 :element-type '(unsigned-byte 8))) nil)")
        self.assertNotIn("condition", self.freeze(**{"heap-limit": 100 << 20}).original)

    def test_a_heap_that_is_half_full_is_not_collected(self):
        """The collector might not find room for what lives, and end the process."""
        self.worker.eval("(defvar *x* (make-array 600000000 :element-type '(unsigned-byte 8))) (setf *x* nil)")
        self.refusal(**{"heap-limit": 100 << 20})


if __name__ == "__main__":
    unittest.main()
