"""Sessions beside each other: they evaluate in parallel, and what happens to one happens to no other."""

import os
import re
import signal
import time
import unittest

import support
from gate import Gate, job_of, start_job

CLOSED = "[ERROR] SESSION-CLOSED\nThe session 'a' was closed."
SOON = 2 * (3 if support.IS_SANITIZED else 1)  # seconds; the benchmark measures the milliseconds


class SessionsTestCase(support.TestCase):
    def open(self, server, *names):
        for name in names:
            text, is_error = server.call("sessions", action="open", session=name)
            self.assertFalse(is_error, text)

    def worker_of(self, server, session):
        """The process that a session's code runs in."""
        text, is_error = server.evaluate("(sb-unix:unix-getpid)", session=session)
        self.assertFalse(is_error, text)
        return int(re.search(r"=> (\d+)", text)[1])

    def start_program(self, server, session):
        """A program in the background of a session; its process number."""
        text, is_error = server.evaluate(
            "(defvar *program* (sb-ext:run-program \"sleep\" '(\"1000\") :search t :wait nil)) (sb-ext:process-pid *program*)",
            session=session)
        self.assertFalse(is_error, text)
        return int(re.search(r"=> (\d+)", text)[1])

    def is_alive(self, pid):
        return support.state(pid) not in "ZX"


class Parallel(SessionsTestCase):
    def test_two_sessions_evaluate_at_the_same_time(self):
        """Each waits for what the other does meanwhile: one after the other they would wait for ever."""
        server = self.start()
        self.open(server, "a", "b")
        wait_for_other = '(loop until (probe-file "{}") do (sleep 0.005))'
        mine, theirs = server.home.cwd / "of-a", server.home.cwd / "of-b"
        write = '(with-open-file (s "{}" :direction :output))'
        calls = [server.send_evaluation(f"(progn {write.format(mine)} {wait_for_other.format(theirs)} 'a)", session="a"),
                 server.send_evaluation(f"(progn {write.format(theirs)} {wait_for_other.format(mine)} 'b)", session="b")]
        self.assertEqual([support.text_of(server.wait_for(call)) for call in calls], [("=> A", False), ("=> B", False)])

    def test_twenty_sessions_at_once(self):
        """None is let go before all have begun."""
        server = self.start()
        names = [f"s{number}" for number in range(20)]
        self.open(server, *names)
        gates = {name: Gate(server.home) for name in names}
        calls = {name: server.send_evaluation(f"(progn (defvar *mine* '{name}) {gates[name].form} *mine*)", session=name)
                 for name in names}
        for gate in gates.values():
            gate.wait_until_reached()
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False), "and one more beside them")
        for gate in gates.values():
            gate.open()
        for name, call in calls.items():
            self.assertEqual(support.text_of(server.wait_for(call)), (f"=> {name.upper()}", False))
        self.assertEqual(server.evaluate("(boundp '*mine*)"), ("=> NIL", False))
        self.assertEqual(server.close(), 0)

    def test_each_is_isolated(self):
        server = self.start()
        self.open(server, "a")
        server.evaluate("(defpackage :of-default) (defvar *x* 'default) (setf *print-base* 2)")
        self.assertEqual(server.evaluate("(list (find-package :of-default) (boundp '*x*) *print-base*)", session="a"),
                         ("=> (NIL NIL 10)", False))
        server.evaluate("(defvar *x* 'a)", session="a")
        server.call("reset-session", session="a")
        self.assertEqual(server.evaluate("*x*"), ("=> DEFAULT", False))

    def test_output_and_jobs_belong_to_their_session(self):
        server = self.start()
        self.open(server, "a")
        server.evaluate('(write-line "of default")')
        server.evaluate('(write-line "of a")', session="a")
        self.assertIn("of default", server.call("read-output")[0])
        self.assertIn("of a", server.call("read-output", session="a")[0])
        gate = Gate(server.home)
        job = start_job(server, f"(progn {gate.form} 42)", session="a")
        self.assertIn("NO-SUCH-JOB", server.call("continue-evaluation", job=job)[0])
        self.assertIn("NO-SUCH-JOB", server.call("interrupt-evaluation")[0])
        gate.open()
        self.assertEqual(server.call("continue-evaluation", session="a"), ("=> 42", False))

    def test_every_tool_that_works_in_a_session_takes_one(self):
        server = self.start()
        for tool in server.request("tools/list")["result"]["tools"]:
            with self.subTest(tool["name"]):
                self.assertIn("session", tool["inputSchema"]["properties"])

    def test_a_session_that_is_not_there_is_said_so(self):
        server = self.start()
        text, is_error = server.evaluate("1", session="nobody")
        self.assertTrue(is_error)
        self.assertIn("There is no session named 'nobody'.", text)
        for arguments in ({"action": "close", "session": "nobody"}, {"action": "close", "session": "default"},
                          {"action": "close"}, {"action": "open", "session": "default"},
                          {"action": "open", "session": "a/b"}, {"action": "open", "session": ""},
                          {"action": "open", "session": "x" * 65}, {"action": "fork", "to": "default"},
                          {"action": "fork", "to": "../up"}):
            with self.subTest(arguments):
                text, is_error = server.call("sessions", **arguments)
                self.assertTrue(is_error, text)
        self.assertEqual(server.call("sessions", action="list")[0].count("\n- "), 1)


class Closing(SessionsTestCase):
    def test_in_the_middle_of_an_evaluation_all_its_calls_are_answered_and_no_process_is_left(self):
        server = self.start()
        self.assert_alive(server)
        self.open(server, "a")
        gate = Gate(server.home)
        program = self.start_program(server, "a")
        running = server.send_evaluation(f'(progn (write-line "so far") (finish-output) {gate.form})', session="a")
        waiting = server.send_evaluation("(+ 1 2)", session="a")
        gate.wait_until_reached()
        before = set(server.home.processes())
        text, is_error = server.call("sessions", action="close", session="a")
        self.assertEqual((text, is_error), ("Session 'a' is closed, and its state is gone.", False))
        self.assertEqual(support.text_of(server.wait_for(running)), ("[stdout]\nso far\n\n" + CLOSED, True))
        self.assertEqual(support.text_of(server.wait_for(waiting)), (CLOSED, True))
        support.wait_until(lambda: not self.is_alive(program), "its program is ended")
        self.assertIn("There is no session named 'a'", server.evaluate("1", session="a")[0])
        self.assert_alive(server)
        self.assertLess(len(server.home.processes()), len(before))
        self.assertEqual(server.close(), 0)

    def test_whoever_waits_for_a_job_of_it_is_answered(self):
        server = self.start()
        self.open(server, "a")
        server.evaluate("1", session="a")
        gate = Gate(server.home)
        job = start_job(server, gate.form, session="a")
        waiting = server.send_request("tools/call", {"name": "continue-evaluation", "arguments": {"job": job, "session": "a"}})
        server.call("sessions", action="close", session="a")
        self.assertEqual(support.text_of(server.wait_for(waiting)), (CLOSED, True))

    def test_its_name_is_free_again_and_the_new_one_is_fresh(self):
        server = self.start()
        for _ in range(3):
            self.open(server, "a")
            self.assertEqual(server.evaluate("(boundp '*x*)", session="a"), ("=> NIL", False))
            server.evaluate("(defvar *x* 1)", session="a")
            server.call("sessions", action="close", session="a")

    def test_opening_and_closing_leaks_nothing(self):
        server = self.start()
        server.evaluate("1")
        self.open(server, "a")
        server.evaluate("1", session="a")
        server.call("sessions", action="close", session="a")

        def count():
            return len(server.home.processes()), support.open_descriptors(server.pid)
        support.wait_until(lambda: len(server.checkpoints()) <= 2, "the checkpoints of the closed session are gone")
        before = count()
        for number in range(20):
            self.open(server, f"n{number}")
            server.evaluate("(defvar *x* 1)", session=f"n{number}")
            if number % 2:
                server.call("sessions", action="fork", session=f"n{number}", to="copy")
                server.call("sessions", action="close", session="copy")
            server.call("sessions", action="close", session=f"n{number}")
        support.wait_until(lambda: count() == before, "as many processes and descriptors as before", 5)


class Forking(SessionsTestCase):
    def test_a_copy_has_all_the_state_and_a_life_of_its_own(self):
        server = self.start()
        server.evaluate("(defvar *x* (list 1 2)) (defpackage :p (:use :cl))")
        server.evaluate("(in-package :p)")
        server.evaluate("(setf (third (setf cl-user::*x* (append cl-user::*x* '(3)))) 'three)")
        text, is_error = server.call("sessions", action="fork", to="copy")
        self.assertFalse(is_error, text)
        self.assertIn("Session 'copy' is open", text)
        self.assertEqual(server.evaluate("(list cl-user::*x* (package-name *package*))", session="copy"),
                         ('=> ((1 2 THREE) "P")', False))
        server.evaluate("(setf cl-user::*x* 'of-the-copy)", session="copy")
        self.assertEqual(server.evaluate("cl-user::*x*"), ("=> (1 2 THREE)", False))
        server.evaluate("(sb-ext:exit :abort t)", session="copy")
        self.assertEqual(server.evaluate("cl-user::*x*", session="copy"), ("=> OF-THE-COPY", False))
        server.call("reset-session")
        self.assertEqual(server.evaluate("cl-user::*x*", session="copy"), ("=> OF-THE-COPY", False))

    def test_a_busy_session_is_copied_when_its_turn_comes(self):
        server = self.start()
        server.evaluate("(defvar *x* 'before)")
        gate = Gate(server.home)
        running = server.send_evaluation(f"(progn {gate.form} (setf *x* 'after))")
        gate.wait_until_reached()
        text, _ = server.call("sessions", action="fork", to="copy", wait=0)
        self.assertTrue(text.startswith("[WAITING]"), text)
        self.assertIn("There is no session named 'copy'", server.evaluate("*x*", session="copy")[0])
        gate.open()
        self.assertEqual(support.text_of(server.wait_for(running)), ("=> AFTER", False))
        text, is_error = server.call("continue-evaluation", job=job_of(text))
        self.assertFalse(is_error, text)
        self.assertIn("Session 'copy' is open: a copy of session default after call 2.", text)
        self.assertEqual(server.evaluate("*x*", session="copy"), ("=> AFTER", False))

    def test_of_two_copies_with_one_name_the_second_is_refused(self):
        server = self.start()
        server.evaluate("1")
        gate = Gate(server.home)
        start_job(server, gate.form)
        forks = [server.send_request("tools/call", {"name": "sessions", "arguments": {"action": "fork", "to": "copy"}})
                 for _ in range(2)]
        gate.open()
        text, is_error = support.text_of(server.wait_for(forks[0]))
        self.assertFalse(is_error, text)
        text, is_error = support.text_of(server.wait_for(forks[1]))
        self.assertIn("There is a session named 'copy' already.", text)
        self.assertTrue(is_error)

    def test_where_threads_run_there_is_no_copy_and_it_says_why(self):
        server = self.start()
        server.evaluate("(defvar *x* 1)")
        server.evaluate("(progn (sb-thread:make-thread (lambda () (sleep 1000))) 1)")
        text, is_error = server.call("sessions", action="fork", to="copy")
        self.assertTrue(is_error)
        self.assertIn("The session cannot be copied", text)
        self.assertIn("Threads are running.", text)
        self.assertEqual(server.evaluate("*x*"), ("=> 1", False))

    def test_a_copy_cannot_be_undone_into_its_origin_but_its_own_calls_can(self):
        server = self.start()
        server.evaluate("(defvar *x* 1)")
        server.call("sessions", action="fork", to="copy")
        server.evaluate("(setf *x* 2)", session="copy")
        self.assertFalse(server.call("undo", session="copy")[1])
        self.assertEqual(server.evaluate("*x*", session="copy", keep=False)[0].split("\n")[0], "=> 1")
        text, is_error = server.call("undo", session="copy")
        self.assertTrue(is_error, text)
        self.assertEqual(server.evaluate("*x*"), ("=> 1", False))


class Deaths(SessionsTestCase):
    def test_after_a_kill_in_the_middle_the_reply_comes_and_the_next_has_the_state_of_before(self):
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        worker = self.worker_of(server, "default")
        for _ in range(5):
            gate = Gate(server.home)
            call = server.send_evaluation(f'(progn (setf *x* \'changed) (write-line "so far") (finish-output) {gate.form})')
            gate.wait_until_reached()
            since = time.monotonic()
            os.kill(worker, signal.SIGKILL)
            text, is_error = support.text_of(server.wait_for(call))
            state = server.evaluate("*x*")
            self.assertLess(time.monotonic() - since, SOON)
            self.assertTrue(is_error)
            self.assertTrue(text.startswith("[stdout]\nso far\n\n[ERROR] LISP-PROCESS-ENDED\nThe Lisp process was killed by signal 9 "
                                            "(Killed). The session is back to its state before this call."), text)
            self.assertEqual(state, ("=> KEPT", False))
            worker = self.worker_of(server, "default")

    def test_a_killed_session_leaves_the_others_alone(self):
        server = self.start()
        self.open(server, "a", "b")
        for name in ("a", "b"):
            server.evaluate(f"(defvar *x* '{name})", session=name)
        gate = Gate(server.home)
        victim, other = self.worker_of(server, "a"), self.worker_of(server, "b")
        running = server.send_evaluation(f"(progn {gate.form} (list *x* 'done))", session="b")
        gate.wait_until_reached()
        os.kill(victim, signal.SIGKILL)
        support.wait_until(lambda: not self.is_alive(victim), "it is dead")
        text, _ = server.evaluate("*x*", session="a")
        self.assertTrue(text.endswith("=> A"), text)
        gate.open()
        self.assertEqual(support.text_of(server.wait_for(running)), ("=> (B DONE)", False))
        self.assertEqual(self.worker_of(server, "b"), other)

    def test_its_programs_die_with_a_session_and_those_of_the_others_do_not(self):
        server = self.start()
        self.open(server, "a", "b", "c")
        programs = {name: self.start_program(server, name) for name in ("default", "a", "b", "c")}
        server.call("sessions", action="close", session="a")
        support.wait_until(lambda: not self.is_alive(programs["a"]), "the program of the closed session is ended")
        os.kill(self.worker_of(server, "b"), signal.SIGKILL)
        self.assertTrue(server.evaluate("1", session="b")[0].endswith("=> 1"))
        support.wait_until(lambda: not self.is_alive(programs["b"]), "the program of the killed session is ended", 5)
        server.call("reset-session", session="c")
        self.assertEqual(server.evaluate("1", session="c"), ("=> 1", False))
        support.wait_until(lambda: not self.is_alive(programs["c"]), "the program of the reset session is ended", 5)
        self.assertTrue(self.is_alive(programs["default"]), "the program of the session that nothing happened to")
        self.assertEqual(server.evaluate("(sb-ext:process-alive-p *program*)"), ("=> T", False))
        self.assertEqual(server.close(), 0)

    def test_a_program_that_left_its_group_dies_with_its_session_alone(self):
        server = self.start()
        self.open(server, "a", "b")
        programs = {}
        for name in ("a", "b"):
            path = server.home.cwd / f"daemon-of-{name}"
            server.evaluate(f"(sb-ext:run-program \"/bin/sh\" '(\"-c\" \"setsid sh -c 'echo $$ > {path}; exec sleep 1000' &\"))",
                            session=name)
            programs[name] = int(support.wait_until(lambda p=path: p.exists() and p.read_text().strip(), "the daemon runs"))
        server.call("sessions", action="close", session="a")
        support.wait_until(lambda: not self.is_alive(programs["a"]), "the daemon of the closed session is ended", 5)
        self.assertEqual(server.evaluate("1", session="b"), ("=> 1", False))
        self.assertTrue(self.is_alive(programs["b"]), "the daemon of the other")
        server.evaluate("(sb-ext:exit :abort t)", session="b")
        self.assertEqual(server.evaluate("1", session="b"), ("=> 1", False))
        self.assertEqual(server.close(), 0)
        self.assertFalse(self.is_alive(programs["b"]))

    def test_a_session_that_dies_all_the_time_leaves_the_others_alone(self):
        server = self.start()
        self.open(server, "a")
        gate = Gate(server.home)
        running = server.send_evaluation(f"(progn {gate.form} 'untouched)")
        gate.wait_until_reached()
        for _ in range(20):
            self.assertIn("LISP-PROCESS-ENDED", server.evaluate("(sb-ext:exit :abort t)", session="a")[0])
        gate.open()
        self.assertEqual(support.text_of(server.wait_for(running)), ("=> UNTOUCHED", False))


if __name__ == "__main__":
    unittest.main()
