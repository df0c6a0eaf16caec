"""Every limit that a flag sets is reached, and so are those of the machine: a clear reply, and the next call works."""

import itertools
import os
import random
import resource
import subprocess
import unittest

import support
from gate import Gate, job_of, start_job

MEGABYTE = 1 << 20
INVALID_REQUEST = -32600
IS_ROOT = os.geteuid() == 0


class LimitsTestCase(support.TestCase):
    def assert_refused(self, reply, *words):
        text, is_error = reply
        self.assertTrue(is_error, text)
        for word in words:
            self.assertIn(word, text)


class Flags(LimitsTestCase):
    def test_sessions(self):
        server = self.start("--sessions", "3")
        for name in ("a", "b"):
            self.assertFalse(server.call("sessions", action="open", session=name)[1])
        refusal = ("3 sessions are open, the most there may be", "--sessions")
        self.assert_refused(server.call("sessions", action="open", session="c"), *refusal)
        self.assert_refused(server.call("sessions", action="fork", to="c"), *refusal)
        server.call("sessions", action="close", session="a")
        self.assertFalse(server.call("sessions", action="fork", to="c")[1])
        self.assertEqual(server.evaluate("(+ 1 2)", session="c"), ("=> 3", False))

    def test_queue(self):
        server = self.start("--queue", "3")
        server.evaluate("1")
        server.call("sessions", action="open", session="other")
        gate = Gate(server.home)
        start_job(server, gate.form)
        waiting = [server.send_evaluation(str(number)) for number in (1, 2)]
        self.assert_refused(server.evaluate("3"), "SESSION-BUSY", "3 calls are waiting for this session already")
        self.assertEqual(server.evaluate("4", session="other"), ("=> 4", False), "the others have queues of their own")
        gate.open()
        self.assertEqual([support.text_of(server.wait_for(call))[0] for call in waiting], ["=> 1", "=> 2"])
        self.assertEqual(server.evaluate("5"), ("=> 5", False))

    def test_checkpoints(self):
        server = self.start("--checkpoints", "2")
        server.evaluate("(defvar *x* 0)")
        for name in ("a", "b", "a"):
            self.assertFalse(server.call("checkpoints", action="save", name=name)[1])
            server.evaluate("(incf *x*)")
        self.assert_refused(server.call("checkpoints", action="save", name="c"), "2 named checkpoints", "--checkpoints")
        self.assertFalse(server.call("checkpoints", action="drop", name="b")[1])
        self.assertFalse(server.call("checkpoints", action="save", name="c")[1])
        self.assertFalse(server.call("checkpoints", action="restore", name="a")[1])
        self.assertEqual(server.evaluate("*x*"), ("=> 2", False), "the name means the state it was given last")

    def test_undo_depth(self):
        server = self.start("--undo-depth", "2")
        server.evaluate("(defvar *x* 0)")
        for _ in range(4):
            server.evaluate("(incf *x*)")
        self.assert_refused(server.call("undo", calls=3), "Only 2 calls can be undone.")
        self.assertFalse(server.call("undo", calls=2)[1])
        self.assertEqual(server.evaluate("*x*", keep=False)[0].split("\n")[0], "=> 2")
        self.assert_refused(server.call("undo"), "nothing to undo")

    def test_checkpoint_memory(self):
        """The oldest go; the newest and those with a name stay."""
        server = self.start("--checkpoint-memory", "150")
        server.evaluate("(defvar *x* nil)")
        server.call("checkpoints", action="save", name="first")
        for number in range(8):
            text, is_error = server.evaluate(
                "(progn (setf *x* nil) (sb-ext:gc :full t) "
                f"(setf *x* (make-array 30000000 :element-type '(unsigned-byte 8) :initial-element {number})) {number})")
            self.assertEqual((text, is_error), (f"=> {number}", False))
        support.wait_until(lambda: "--checkpoint-memory" in server.call("checkpoints", action="list")[0],
                           "the oldest checkpoint is dropped", 10)
        self.assert_refused(server.call("undo", calls=7), "checkpoints may take 150 MB together (--checkpoint-memory)")
        self.assertIn("back to its state before this call", server.evaluate("(sb-ext:exit :abort t)")[0])
        self.assertEqual(server.evaluate("(aref *x* 0)", keep=False)[0].split("\n")[0], "=> 7")
        text, is_error = server.call("undo")
        self.assertFalse(is_error, text)
        self.assertEqual(server.evaluate("(aref *x* 0)"), ("=> 6", False))
        self.assertFalse(server.call("checkpoints", action="restore", name="first")[1])
        self.assertEqual(server.evaluate("*x*"), ("=> NIL", False))

    def test_keep_output(self):
        server = self.start("--keep-output", "1")
        text, _ = server.evaluate('(dotimes (i 300000) (format t "line ~7,vd~%" #\\0 i))')
        self.assertRegex(text, r"lines [\d,]+ to [\d,]+ are not kept")
        for _ in range(2):
            server.evaluate('(dotimes (i 50000) (format t "line ~7,vd~%" #\\0 i))')
        self.assert_refused(server.call("read-output", call=1), "The output of call 1 is not kept.")
        self.assertIn("line 0025000", server.call("read-output", pattern="line 0025000")[0], "the latest is whole")

    def test_budget(self):
        server = self.start("--budget", "1000")
        code = '(dotimes (i 10000) (format t "line ~d~%" i))'
        text, _ = server.evaluate(code)
        self.assertTrue(200 < len(text) <= 1000, len(text))
        text, _ = server.evaluate(code, budget=5000)
        self.assertTrue(4000 < len(text) <= 5000, "a call may say otherwise")

    def test_message_size(self):
        server = self.start("--message-size", "1")
        text, is_error = server.evaluate(f'(length "{"x" * (MEGABYTE - 1000)}")')
        self.assertEqual((text, is_error), (f"=> {MEGABYTE - 1000}", False))
        server.send_evaluation(f'(length "{"x" * MEGABYTE}")')
        reply = server.receive()
        self.assertEqual(reply["error"]["code"], INVALID_REQUEST)
        self.assert_alive(server)

    def test_wait(self):
        server = self.start("--wait", "0")
        gate = Gate(server.home)
        text, is_error = server.evaluate(f"(progn {gate.form} 42)")
        self.assertFalse(is_error)
        gate.open()
        self.assertEqual(server.call("continue-evaluation", job=job_of(text), wait=30), ("=> 42", False), "a call may say otherwise")

    def test_journal_size_of_what_can_be_left_out(self):
        """What calls said goes; what they defined stays."""
        home = self.make_home()
        with support.Server("--journal-size", "1", home=home) as server:
            server.evaluate("(defun kept () 'kept)")
            for number in range(20):
                self.assertEqual(server.evaluate(f'(progn (length "{"x" * 100_000}") {number})'), (f"=> {number}", False))
            server.evaluate("(defun kept-too () 'too)")
            size = max(path.stat().st_size for path in (home.path / "state").rglob("*.journal"))
            self.assertLess(size, MEGABYTE * 1.1)
        server = self.start("--resume", "default", home=home)
        self.assertTrue(server.evaluate("(list (kept) (kept-too))")[0].endswith("=> (KEPT TOO)"))

    def test_journal_size_of_what_cannot_be_left_out(self):
        home = self.make_home()
        server = self.start("--journal-size", "1", home=home)
        notices = 0
        for number in range(8):
            text, is_error = server.evaluate(f'(progn (defvar *text-{number}* "{"x" * 200_000}") {number})')
            self.assertFalse(is_error)
            self.assertTrue(text.endswith(f"=> {number}"), text[-200:])
            notices += "journal is not written any more" in text and "--journal-size" in text
        self.assertEqual(notices, 1, "it is said, once")
        self.assertEqual(server.close(), 0)


class Machine(LimitsTestCase):
    """No processes, no descriptors, no room on the disk."""

    def start_unprivileged(self, home):
        """A server whose processes are counted, which those of root are not, and how to be its user."""
        if not IS_ROOT:
            return self.start(home=home), []
        user = random.randint(100_000, 1_000_000)  # Nobody's, so that nobody else's processes count.
        for path in (home.path, *home.path.rglob("*")):
            os.chown(path, user, user)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        own_cache = {"XDG_CACHE_HOME": str(home.path / "cache")}  # The one that tests share is root's.
        return self.start(*become[1:], support.PROGRAM, home=home, env=own_cache, program=become[0]), become

    def limit_processes(self, home, become, most):
        for pid in home.processes():
            done = subprocess.run([*become, "prlimit", f"--pid={pid}", f"--nproc={most}:"], capture_output=True, text=True,
                                  check=False)
            self.assertTrue(done.returncode == 0 or support.state(pid) in "ZX", done.stderr)

    def limit_descriptors(self, server, most):
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (most, resource.prlimit(server.pid, resource.RLIMIT_NOFILE)[1]))

    def exhaust_descriptors(self, server):
        """Nothing can be opened any more before something is closed."""
        if support.IS_SANITIZED:
            self.skipTest("UBSan looks at an object's memory through a pipe, and takes it for none without a descriptor")
        used = {int(fd) for fd in os.listdir(f"/proc/{server.pid}/fd")}
        self.limit_descriptors(server, next(fd for fd in itertools.count() if fd not in used))

    def small_disk(self, path):
        """A file system of 1 MB at `path`."""
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0777", "tmpfs", str(path)], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"a file system cannot be mounted here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(path)], check=False)

    def fill(self, path):
        with (path / "rubbish").open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass

    def test_a_worker_that_cannot_be_forked_goes_on_without_a_checkpoint(self):
        home = self.make_home()
        server, become = self.start_unprivileged(home)
        server.evaluate("(defvar *x* 1)")
        server.wait_until_at_rest()
        self.limit_processes(home, become, 1)
        self.assertEqual(server.evaluate("(defvar *y* 2)"), ("=> *Y*", False))
        self.assertEqual(server.evaluate("(setf *x* 3)"), ("=> 3", False))
        self.assert_refused(server.call("checkpoints", action="save", name="here"), "No checkpoint can be made")
        self.assert_refused(server.call("sessions", action="fork", to="copy"), "The session cannot be copied")
        self.assert_refused(server.evaluate("1", keep=False), "NO-CHECKPOINT")
        text, is_error = server.evaluate("(sb-ext:exit :abort t)")
        self.assertTrue(is_error)
        self.assertIn("Replayed, 1 definition: (defvar *y* 2). Not replayed, since only definitions are: (setf *x* 3).", text)
        self.limit_processes(home, become, 10_000)
        self.assertEqual(server.evaluate("(list *x* *y*)"), ("=> (1 2)", False))
        self.assertFalse(server.call("checkpoints", action="save", name="here")[1], "as soon as it can, it does")
        self.assertEqual(server.close(), 0)

    def test_a_session_that_cannot_be_started_says_why_and_can_be_later(self):
        home = self.make_home()
        server, become = self.start_unprivileged(home)
        server.evaluate("(defvar *x* 1)")
        server.wait_until_at_rest()
        self.limit_processes(home, become, 1)
        server.call("sessions", action="open", session="a")
        self.assert_refused(server.evaluate("1", session="a"), "LISP-UNAVAILABLE", "cannot be copied: fork failed")
        self.assertEqual(server.evaluate("*x*"), ("=> 1", False))
        self.limit_processes(home, become, 10_000)
        self.assertEqual(server.evaluate("1", session="a"), ("=> 1", False))
        self.assertEqual(server.close(), 0)

    def test_without_descriptors_what_needs_none_works_and_the_rest_says_why(self):
        server = self.start()
        server.evaluate("(defvar *x* 1)")
        server.wait_until_at_rest()
        self.exhaust_descriptors(server)
        self.assertEqual(server.evaluate("(defvar *y* 2)"), ("=> *Y*", False))
        self.assertEqual(server.evaluate("(list *x* *y*)"), ("=> (1 2)", False))
        server.call("sessions", action="open", session="a")
        self.assert_refused(server.evaluate("1", session="a"), "LISP-UNAVAILABLE", "Too many open files")
        self.assert_refused(server.call("checkpoints", action="save", name="here"), "No checkpoint can be made",
                            "Too many open files")
        text, is_error = server.evaluate('(dotimes (i 100000) (format t "line ~7,vd~%" #\\0 i))', budget=1000)
        self.assertFalse(is_error)
        self.assertRegex(text, r"lines [\d,]+ to [\d,]+ are not kept \(.*Too many open files\)")
        self.limit_descriptors(server, 1024)
        self.assertEqual(server.evaluate("(list *x* *y*)"), ("=> (1 2)", False))
        text, is_error = server.evaluate("1", session="a")
        self.assertFalse(is_error)
        self.assertRegex(text, r"\A\[notice\]\nThis session's journal is not written any more .*\n\n=> 1\Z")
        self.assertFalse(server.call("checkpoints", action="save", name="here")[1])
        self.assertEqual(server.close(), 0)

    def test_a_death_without_descriptors_is_answered_with_what_became_of_the_state(self):
        server = self.start()
        server.evaluate("(defvar *x* 1)")
        server.wait_until_at_rest()
        self.exhaust_descriptors(server)
        text, is_error = server.evaluate("(sb-ext:exit :code 3 :abort t)")
        self.assertTrue(is_error)
        self.assertIn("exited with code 3", text)
        is_lost = "What this session had defined is lost" in text
        self.assertTrue(is_lost or "back to its state before this call" in text, text)
        self.limit_descriptors(server, 1024)
        text, is_error = server.evaluate("(boundp '*x*)")
        self.assertFalse(is_error)
        self.assertTrue(text.endswith("=> NIL" if is_lost else "=> T"), text)
        self.assertEqual(server.close(), 0)

    def test_output_that_the_disk_has_no_room_for_is_drained_all_the_same(self):
        home = self.make_home()
        self.small_disk(home.path / "run")
        server = self.start(home=home)
        text, is_error = server.evaluate('(dotimes (i 500000) (format t "line ~7,vd~%" #\\0 i))', budget=1000)
        self.assertFalse(is_error)
        self.assertIn("line 0000000\n", text)
        self.assertIn("line 0499999", text)
        self.assertRegex(text, r"lines [\d,]+ to [\d,]+ are not kept \(.*No space left on device\)")
        self.assertIn("No space left on device", server.call("read-output", pattern="line 0250000")[0])
        self.assert_alive(server)
        self.assertEqual(server.close(), 0)

    def test_a_journal_that_the_disk_has_no_room_for_is_said_to_be_missing(self):
        home = self.make_home()
        self.small_disk(home.path / "state")
        with support.Server(home=home) as server:
            server.evaluate("(defvar *written* 1)")
            self.fill(home.path / "state")
            for number in range(20):
                text, is_error = server.evaluate(f"(progn (defvar *lost-{number}* '({'x ' * 300})) {number})")
                self.assertFalse(is_error)
                if "journal is not written any more" in text:
                    break
            self.assertIn("journal is not written any more", text)
            self.assertRegex(text, "No space left on device|there is no room for more")
            self.assertIn("cannot be resumed when the server ends", text)
            self.assertEqual(server.evaluate("*written*"), ("=> 1", False), "it is said once, and the session works")
        (home.path / "state/rubbish").unlink()
        server = self.start("--resume", "default", home=home)
        self.assertTrue(server.evaluate("*written*")[0].endswith("=> 1"), "what was written is whole")

    def test_a_state_directory_that_cannot_be_written_is_said_and_the_session_works(self):
        home = self.make_home()
        (home.path / "state").rmdir()
        (home.path / "state").write_text("a file is in the way")
        server = self.start(home=home)
        text, is_error = server.evaluate("(defvar *x* 1)")
        self.assertFalse(is_error)
        text += server.evaluate("*x*")[0]
        self.assertIn("journal is not written any more", text)
        self.assertEqual(server.evaluate("*x*"), ("=> 1", False))
        self.assertEqual(server.close(), 0)


if __name__ == "__main__":
    unittest.main()
