"""How the server starts, ends and dies, and that it never leaves anything running."""

import json
import os
import signal
import socket
import subprocess
import time
import unittest

import support

INITIALIZE = ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},'
              '"clientInfo":{"name":"t","version":"1"}}}')
INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
ADD = ('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evaluate-lisp",'
       '"arguments":{"code":"(+ 1 2)"}}}')

# Children that try to stay: in the background, in a session of their own, and as an orphan.
START_CHILDREN = """
    (sb-ext:run-program "sleep" '("1000") :search t :wait nil)
    (sb-ext:run-program "setsid" '("sleep" "1000") :search t :wait nil)
    (sb-ext:run-program "sh" '("-c" "setsid sh -c 'sleep 1000 & sleep 1000' & exit 0") :search t :wait t)
    (sb-ext:run-program "sh" '("-c" "trap '' INT TERM HUP; sleep 1000 & wait") :search t :wait nil)
"""

KILLED = "An evaluation did not stop when it was interrupted, so its Lisp process was ended."
BACK = ("The session is back to its state before this call. Files written, messages sent and programs started since are "
        "not undone.")
BACK_BEFORE_THAT = BACK.replace("this call", "that evaluation")

FREEZE_SECONDS = 10  # after which a checkpoint that is not there is given up, and its worker with it


class Start(support.TestCase):
    def test_a_pipeline_prints_two_lines_and_exits_with_0(self):
        home = self.make_home()
        done = subprocess.run([support.PROGRAM], input="\n".join([INITIALIZE, INITIALIZED, ADD, ""]), text=True,
                              capture_output=True, cwd=home.cwd, env=home.environment(),
                              timeout=support.EXIT_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2, done.stdout)
        self.assertEqual(json.loads(lines[1])["result"]["content"][0]["text"], "=> 3")
        home.wait_until_no_process_is_left()

    def test_initialize_and_lists_start_no_lisp(self):
        server = self.start()
        server.request("tools/list")
        server.request("ping")
        server.request("tools/call", {"name": "no-such-tool"})
        self.assertEqual(support.children(server.pid), [])
        server.evaluate("1")
        self.assert_only_one_session_runs(server)

    def test_lisp_runs_where_the_server_was_started(self):
        server = self.start()
        server.home.write("here.txt", "found")
        self.assertEqual(server.evaluate('(with-open-file (s "here.txt") (read-line s))')[0].splitlines()[0], '=> "found"')
        self.assertEqual(server.evaluate("(namestring (truename \".\"))"), (f'=> "{server.home.cwd}/"', False))

    def test_init_files_of_the_user_are_not_read(self):
        home = self.make_home()
        (home.path / "home/.sbclrc").write_text('(defvar cl-user::*from-sbclrc* t) (format t "hello from sbclrc")')
        server = self.start(home=home)
        self.assertEqual(server.evaluate("(boundp '*from-sbclrc*)"), ("=> NIL", False))

    def test_two_servers_do_not_share_state(self):
        """session-state.md, "State Isolation"."""
        one, other = self.start(), self.start()
        self.assertEqual(one.evaluate("(defvar *x* 'one)"), ("=> *X*", False))
        self.assertEqual(other.evaluate("(boundp '*x*)"), ("=> NIL", False))
        self.assertEqual(one.close(), 0)
        self.assertEqual(other.evaluate("(+ 1 2)"), ("=> 3", False))


class EndOfInput(support.TestCase):
    def test_what_is_in_flight_is_answered(self):
        server = self.start()
        ids = [server.send_evaluation(f"(progn (sleep 0.1) {number})") for number in range(3)]
        server.close_input()
        replies = server.rest()
        self.assertEqual([reply["id"] for reply in replies], ids)
        self.assertEqual([support.text_of(reply)[0] for reply in replies], ["=> 0", "=> 1", "=> 2"])
        self.assertEqual(server.wait(), 0)
        server.home.wait_until_no_process_is_left()

    def test_an_endless_evaluation_gets_the_grace_and_an_answer(self):
        server = self.start("--exit-grace", "1")
        endless = server.start_endless_evaluation()
        waiting = server.send_evaluation("(+ 1 2)")
        start = time.monotonic()
        server.close_input()
        replies = server.rest()
        seconds = time.monotonic() - start
        self.assertEqual(sorted(reply["id"] for reply in replies), [endless, waiting])
        for reply in replies:
            self.assertTrue("error" in reply or reply["result"]["isError"], reply)
        self.assertEqual(server.wait(), 0)
        self.assertGreater(seconds, 0.9)
        self.assertLess(seconds, 1 + support.GONE_SECONDS)
        server.home.wait_until_no_process_is_left()

    def test_without_grace_it_ends_at_once(self):
        server = self.start("--exit-grace", "0")
        endless = server.start_endless_evaluation("(handler-case (progn RUNNING (loop)) (serious-condition () (loop)))")
        start = time.monotonic()
        server.close_input()
        self.assertEqual([reply["id"] for reply in server.rest()], [endless])
        self.assertEqual(self.assert_gone_in_time(server, start), 0)

    def test_an_idle_session_ends_at_once(self):
        server = self.start()
        server.evaluate("(defvar *x* 1)")
        start = time.monotonic()
        server.close_input()
        self.assertEqual(self.assert_gone_in_time(server, start), 0)


class ReaderGone(support.TestCase):
    """Nobody reads standard output any more, while standard input stays open."""

    def start_on(self, make_pair):
        ours, theirs = make_pair()
        server = self.start(revision=None, stdout=theirs)
        if isinstance(theirs, int):
            os.close(theirs)
            reader = os.fdopen(ours, "rb")
        else:
            theirs.close()
            reader = ours.makefile("rb")
            ours.close()
        self.addCleanup(reader.close)
        server.send_bytes(INITIALIZE.encode() + b"\n" + INITIALIZED.encode() + b"\n")
        self.assertIn(b"serverInfo", reader.readline())
        return server, reader

    def assert_it_notices(self, server, reader):
        start = time.monotonic()
        reader.close()
        self.assertGreaterEqual(self.assert_gone_in_time(server, start), 0, "killed by a signal")

    def test_it_notices_while_idle(self):
        for name, make_pair in (("pipe", os.pipe), ("socket", socket.socketpair)):
            with self.subTest(name):
                self.assert_it_notices(*self.start_on(make_pair))

    def test_it_notices_while_lisp_waits(self):
        for name, make_pair in (("pipe", os.pipe), ("socket", socket.socketpair)):
            with self.subTest(name):
                server, reader = self.start_on(make_pair)
                server.send_bytes(ADD.encode() + b"\n")
                self.assertIn(b"=> 3", reader.readline())
                self.assert_it_notices(server, reader)

    def test_it_notices_while_lisp_loops(self):
        for name, make_pair in (("pipe", os.pipe), ("socket", socket.socketpair)):
            with self.subTest(name):
                server, reader = self.start_on(make_pair)
                server.start_endless_evaluation()
                self.assert_it_notices(server, reader)

    def test_it_notices_when_input_ends_too(self):
        server, reader = self.start_on(os.pipe)
        server.start_endless_evaluation()
        server.close_input()
        self.assert_it_notices(server, reader)


class Signals(support.TestCase):
    def test_it_stops_on_a_signal_while_idle(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                server = self.start()
                start = time.monotonic()
                server.process.send_signal(number)
                self.assertEqual(self.assert_gone_in_time(server, start), 0)

    def test_it_stops_on_a_signal_while_lisp_loops(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                server = self.start()
                server.start_endless_evaluation("(loop (ignore-errors (handler-case (progn RUNNING (loop)) (serious-condition () nil))))")
                start = time.monotonic()
                server.process.send_signal(number)
                self.assertEqual(self.assert_gone_in_time(server, start), 0)

    def test_it_stops_on_a_signal_while_lisp_cannot_be_interrupted(self):
        server = self.start()
        server.start_endless_evaluation("(sb-sys:without-interrupts RUNNING (loop))")
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.assert_gone_in_time(server, start), 0)

    def test_killed_it_leaves_no_lisp(self):
        for name, code in (("idle", None), ("looping", "(progn RUNNING (loop))"), ("masked", "(sb-sys:without-interrupts RUNNING (loop))")):
            with self.subTest(name):
                server = self.start()
                server.evaluate("1")
                if code:
                    server.start_endless_evaluation(code)
                server.process.kill()
                server.wait()
                server.home.wait_until_no_process_is_left()

    def test_a_signal_to_the_workers_group_is_not_one_to_the_server(self):
        """Ctrl-C in a terminal goes to the foreground group; the worker has a group of its own."""
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        worker, checkpoints = server.wait_until_at_rest()
        self.assertEqual(len(checkpoints), 1)
        groups = {os.getpgid(pid) for pid in (worker, *checkpoints, server.pid)}
        self.assertEqual(len(groups), 3, "the checkpoint has one too, or the worker's death would be its own")
        os.killpg(os.getpgid(worker), signal.SIGTERM)
        support.wait_until(lambda: worker not in support.pids(), "the worker is reaped")
        text, is_error = server.evaluate("*x*")
        self.assertFalse(is_error)
        self.assertTrue(text.endswith("\n=> KEPT"), text)
        self.assertIn("The session is back to its state after the last call.", text)
        self.assert_alive(server)


class Cancellation(support.TestCase):
    def test_what_cannot_be_interrupted_is_killed_after_a_grace(self):
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        endless = server.start_endless_evaluation("(sb-sys:without-interrupts RUNNING (setf *x* 'changed) (loop))")
        server.notify("notifications/cancelled", {"requestId": endless})
        text, is_error = server.evaluate("*x*")
        self.assertFalse(is_error)
        self.assertEqual(text, f"[notice]\n{KILLED} {BACK_BEFORE_THAT}\n\n=> KEPT")
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))
        self.assertEqual(server.close(), 0)
        self.assertEqual(server.rest(), [], "a cancelled request is not answered")


class Children(support.TestCase):
    def test_children_of_lisp_are_gone_after_the_exit(self):
        for name, end in (("end of input", lambda server: server.close_input()),
                          ("SIGTERM", lambda server: server.process.send_signal(signal.SIGTERM))):
            with self.subTest(name):
                server = self.start()
                self.assertEqual(server.evaluate(f"(progn {START_CHILDREN} nil)"), ("=> NIL", False))
                self.assertGreaterEqual(len(server.home.processes()), 6)
                start = time.monotonic()
                end(server)
                self.assertEqual(self.assert_gone_in_time(server, start), 0)

    def test_children_of_lisp_are_gone_after_the_server_was_killed(self):
        server = self.start()
        self.assertEqual(server.evaluate(f"(progn {START_CHILDREN} nil)"), ("=> NIL", False))
        server.process.kill()
        server.wait()
        server.home.wait_until_no_process_is_left()

    def test_a_forked_copy_of_lisp_is_gone_after_the_server_was_killed(self):
        server = self.start()
        server.evaluate("(require :sb-posix)")
        server.evaluate('(when (zerop (funcall (find-symbol "FORK" "SB-POSIX"))) (loop (sleep 1)))')
        server.process.kill()
        server.wait()
        server.home.wait_until_no_process_is_left()

    def test_children_of_lisp_are_gone_after_it_exits(self):
        server = self.start()
        sleepers = lambda: [line for line in server.home.processes().values() if "sleep" in line]
        server.evaluate("""(progn (sb-ext:run-program "sleep" '("1000") :search t :wait nil)
                                  (sb-ext:run-program "setsid" '("sleep" "1000") :search t :wait nil)
                                  (sb-ext:run-program "sh" '("-c" "setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000")
                                                      :search t :wait nil))""")
        self.assertTrue(sleepers())
        server.evaluate("(sb-ext:exit :abort t)")
        server.evaluate("1")
        support.wait_until(lambda: not sleepers(), "the children are gone", 5)

    def test_what_runs_in_the_background_is_left_alone_while_lisp_lives(self):
        server = self.start()
        server.evaluate("""(sb-ext:run-program "sh" '("-c" "setsid sleep 1000 & exit 0") :search t :wait t)""")
        for number in range(5):
            server.evaluate(str(number))
        server.wait_until_at_rest()
        self.assertEqual([line for line in server.home.processes().values() if line == "sleep 1000"], ["sleep 1000"])
        self.assertEqual(server.close(), 0)

    def test_a_child_that_holds_the_output_open_does_not_hold_up_the_reply(self):
        server = self.start()
        code = '(progn (sb-ext:run-program "sleep" \'("1000") :search t :wait nil :output t :error t) (format t "here~%") 1)'
        self.assertEqual(server.evaluate(code), ("[stdout]\nhere\n\n=> 1", False))
        text, is_error = server.evaluate("(sb-ext:exit :code 7 :abort t)")
        self.assertTrue(is_error)
        self.assertEqual(text, f"[ERROR] LISP-PROCESS-ENDED\nThe Lisp process exited with code 7. {BACK}")
        self.assert_alive(server)

    def test_a_forked_copy_of_lisp_hurts_nobody(self):
        server = self.start()
        server.evaluate("(require :sb-posix)")
        text, _ = server.evaluate('(let ((pid (funcall (find-symbol "FORK" "SB-POSIX")))) (if (zerop pid) (sb-ext:exit :code 0 :abort t) :parent))')
        self.assertIn("=> :PARENT", text)
        self.assert_alive(server)
        self.assertEqual(server.close(), 0)


class Checkpoints(support.TestCase):
    """A frozen copy of the worker waits after every call, and takes its place when it dies."""

    def test_a_kill_from_outside_in_the_middle_of_a_call_costs_that_call(self):
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        endless = server.start_endless_evaluation("(progn (setf *x* 'changed) RUNNING (loop))")
        os.kill(server.workers()[0], signal.SIGKILL)
        text, is_error = support.text_of(server.wait_for(endless))
        self.assertTrue(is_error)
        self.assertEqual(text, f"[ERROR] LISP-PROCESS-ENDED\nThe Lisp process was killed by signal 9 (Killed). {BACK}")
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))

    def test_death_after_death(self):
        """Each worker is the copy of a copy, and as good as the first."""
        server = self.start()
        server.evaluate("(defvar *deaths* 0)")
        for number in range(1, 31):
            self.assertEqual(server.evaluate("(incf *deaths*)"), (f"=> {number}", False))
            text, _ = server.evaluate("(progn (incf *deaths* 1000) (sb-ext:exit :code 3 :abort t))")
            self.assertEqual(text, f"[ERROR] LISP-PROCESS-ENDED\nThe Lisp process exited with code 3. {BACK}")
        endless = server.start_endless_evaluation("(progn RUNNING (loop))")
        server.notify("notifications/cancelled", {"requestId": endless})
        self.assertEqual(server.evaluate("(progn (sb-ext:gc :full t) *deaths*)"), ("=> 30", False))
        self.assert_only_one_session_runs(server)
        self.assertEqual(server.close(), 0)

    def test_a_checkpoint_that_is_killed_is_no_loss_while_the_worker_lives(self):
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        _, checkpoints = server.wait_until_at_rest()
        os.kill(checkpoints[0], signal.SIGKILL)
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))
        _, again = server.wait_until_at_rest()
        self.assertEqual(len(again), 1, "the next call has made another")
        self.assertNotEqual(again, checkpoints)
        server.evaluate("(sb-ext:exit :abort t)")
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))

    def test_without_a_checkpoint_definitions_are_made_again(self):
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        _, checkpoints = server.wait_until_at_rest()
        os.kill(checkpoints[0], signal.SIGKILL)
        support.wait_until(lambda: not server.checkpoints(), "the checkpoint is gone")
        text, is_error = server.evaluate("(sb-ext:exit :code 3 :abort t)")
        self.assertTrue(is_error)
        self.assertIn("Replayed, 1 definition: (defvar *x* 'kept).", text)
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))

    def test_a_worker_that_is_stopped_between_two_calls_can_be_left(self):
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        worker, _ = server.wait_until_at_rest()
        os.kill(worker, signal.SIGSTOP)
        request_id = server.send_evaluation("(+ 1 2)")
        self.assertEqual(server.request("ping")["result"], {})
        server.notify("notifications/cancelled", {"requestId": request_id})
        text, is_error = server.evaluate("*x*")
        self.assertFalse(is_error)
        self.assertTrue(text.endswith("=> KEPT"), text)

    def test_a_worker_that_stops_while_it_is_copied_can_be_left(self):
        """The stop comes just after the reply, when the checkpoint is made. It may come too late for that, and then the next
        call waits like any that does not end, until it is cancelled."""
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        worker, _ = server.wait_until_at_rest()
        server.evaluate("1")
        os.kill(worker, signal.SIGSTOP)
        request_id = server.send_evaluation("*x*")
        try:
            text, is_error = support.text_of(server.wait_for(request_id, FREEZE_SECONDS + 2))
        except support.Timeout:
            server.notify("notifications/cancelled", {"requestId": request_id})
            text, is_error = server.evaluate("*x*")
        self.assertFalse(is_error)
        self.assertRegex(text, r"\A\[notice\]\n(.*\n)+=> KEPT\Z")
        self.assert_only_one_session_runs(server)

    def test_quick_calls_never_wait_for_ever(self):
        """Each call's checkpoint is made while that of the call before ends."""
        server = self.start()
        for number in range(1000):
            self.assertEqual(server.call("evaluate-lisp", code=str(number), seconds=10), (f"=> {number}", False))

    def test_killed_it_leaves_no_checkpoint(self):
        server = self.start()
        server.evaluate("1")
        _, checkpoints = server.wait_until_at_rest()
        self.assertEqual(len(checkpoints), 1)
        server.process.kill()
        server.wait()
        server.home.wait_until_no_process_is_left()


class Resources(support.TestCase):
    def descriptors_with_all_checkpoints(self, server):
        """How many the server has open once a session keeps as many checkpoints as it ever will."""
        for _ in range(support.MOST_CHECKPOINTS):
            server.evaluate("1")
        server.wait_until_at_rest()
        return support.open_descriptors(server.pid)

    def assert_descriptors(self, server, number):
        """The server opens files now and then, to look at the memory of its checkpoints: it comes back to the number."""
        server.wait_until_at_rest()
        support.wait_until(lambda: support.open_descriptors(server.pid) == number, f"{number} descriptors are open", 5)

    def test_nothing_leaks(self):
        """500 evaluations, 20 resets, 20 deaths of the worker: the same descriptors, no zombie."""
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        before = self.descriptors_with_all_checkpoints(server)
        for number in range(500):
            self.assertEqual(server.evaluate(f"(+ {number} 1)"), (f"=> {number + 1}", False))
        self.assert_only_one_session_runs(server)
        self.assert_descriptors(server, before)
        for _ in range(20):
            server.call("reset-session")
        self.assertEqual(server.evaluate("(progn (defvar *x* 'kept) 1)"), ("=> 1", False))
        self.descriptors_with_all_checkpoints(server)
        self.assert_descriptors(server, before)
        for number in range(20):
            _, is_error = server.evaluate("(sb-ext:exit :abort t)" if number % 2 else
                                          '(sb-ext:run-program "/bin/sh" \'("-c" "kill -9 $PPID"))')
            self.assertTrue(is_error)
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))
        self.assert_only_one_session_runs(server)
        self.assert_descriptors(server, before)

    def test_a_client_cancelling_all_the_time_leaks_nothing(self):
        server = self.start()
        before = self.descriptors_with_all_checkpoints(server)
        for _ in range(20):
            endless = server.start_endless_evaluation()
            server.notify("notifications/cancelled", {"requestId": endless})
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))
        self.assert_only_one_session_runs(server)
        self.assert_descriptors(server, before)

    def test_floods_of_output_do_not_stay_in_memory(self):
        server = self.start()
        server.evaluate("1")
        before = support.resident_megabytes(server.pid)
        for _ in range(3):
            server.evaluate('(let ((line (make-string 1000000 :initial-element #\\x))) (dotimes (i 50) (write-line line)))')
        if not support.IS_SANITIZED:
            self.assertLess(support.resident_megabytes(server.pid) - before, 20)

    def test_the_descriptors_of_lisp_are_its_own_three_and_the_control_socket(self):
        server = self.start()
        text, _ = server.evaluate(
            '(with-output-to-string (s) (sb-ext:run-program "/bin/ls" \'("/proc/self/fd") :output s))')
        # 0, 1, 2 and the one ls opens: nothing of ours is inherited by a child of user code.
        self.assertEqual(sorted(int(word) for word in text.replace('"', " ").split() if word.isdigit()), [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
