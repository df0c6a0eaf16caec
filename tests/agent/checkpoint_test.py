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

    def __init__(self, worker):
        self.link, theirs = socket.socketpair()
        self.link.settimeout(PATIENCE)
        worker.start("freeze")
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

    def resume(self):
        self.output, theirs = os.pipe()
        self.send("(:resume)")
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


class Checkpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    def setUp(self):
        self.worker = Worker()
        self.addCleanup(self.worker.close)

    def freeze(self):
        copy = Copy(self.worker)
        self.addCleanup(copy.end)
        return copy

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
        copy = Copy(self.worker)
        copy.link.close()
        self.assertIn("Threads are running.", copy.original["condition"].values())
        self.worker.eval("(sb-thread:terminate-thread *t*) (sb-thread:join-thread *t* :default nil)")
        self.assertNotIn("condition", self.freeze().original)


if __name__ == "__main__":
    unittest.main()
