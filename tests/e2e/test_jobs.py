"""Calls that outlive their wait: nothing of their work is lost, and none of them can stay against our will."""

import os
import re
import signal
import time
import unittest

import support
from gate import Gate, job_of, start_job

GRACE = ("--interrupt-grace", "1")
PROGRESS_PAUSE = 0.3  # src/base/limits.h
UNREAD_JOBS = 100

# Each loops for ever and lets no interrupt end it. INSIDE stands where it has begun to.
STUBBORN_FORMS = {
    "ignores the signal": "(progn (sb-sys:enable-interrupt sb-unix:sigint :ignore) INSIDE (loop))",
    "has interrupts disabled": "(sb-sys:without-interrupts INSIDE (loop))",
    "loops in a cleanup form": "(unwind-protect (progn INSIDE (loop)) (loop))",
    "loops in a cleanup form that handles everything":
        "(unwind-protect (progn INSIDE (loop)) (loop (handler-case (loop) (condition () nil))))",
    "sits in foreign code with the signal blocked":
        "(sb-sys:without-interrupts INSIDE (loop (sb-alien:alien-funcall "
        '(sb-alien:extern-alien "sleep" (function sb-alien:unsigned sb-alien:unsigned)) 1000)))',
}


class Jobs(support.TestCase):
    def start_warm(self, *arguments):
        server = self.start(*arguments)
        self.assertEqual(server.evaluate("(defvar *kept* 'kept)"), ("=> *KEPT*", False))
        return server

    def test_each_reply_gives_only_what_is_new(self):
        server = self.start_warm()
        gate = Gate(server.home)
        job = start_job(server, f'(progn (write-line "early") (finish-output) {gate.form} (write-line "late") 42)')
        gate.wait_until_reached()
        text, is_error = server.call("continue-evaluation", job=job, wait=0)
        self.assertFalse(is_error)
        self.assertTrue(text.startswith("[stdout]\nearly\n\n[RUNNING] "), text)
        text, _ = server.call("continue-evaluation", job=job, wait=0)
        self.assertTrue(text.startswith(f"[RUNNING] Job {job} "), text)
        gate.open()
        self.assertEqual(server.call("continue-evaluation", job=job), ("[stdout]\nlate\n\n=> 42", False))
        self.assertIn("early\nlate", server.call("read-output", call=job)[0])

    def test_an_answer_is_kept_until_it_is_read_and_read_once(self):
        server = self.start_warm()
        gate = Gate(server.home)
        job = start_job(server, f'(progn {gate.form} (error "the ~a" "reason"))')
        gate.open()
        self.assertEqual(server.evaluate("1"), ("=> 1", False), "it came after the job")
        text, is_error = server.call("continue-evaluation", job=job)
        self.assertTrue(is_error)
        self.assertIn("[ERROR] SIMPLE-ERROR\nthe reason", text)
        text, is_error = server.call("continue-evaluation", job=job)
        self.assertTrue(is_error)
        self.assertTrue(text.startswith(f"[ERROR] NO-SUCH-JOB\nThere is no job {job} "), text)

    def test_two_who_wait_for_one_job_are_both_answered(self):
        server = self.start_warm()
        gate = Gate(server.home)
        job = start_job(server, f"(progn {gate.form} 42)")
        waiting = [server.send_request("tools/call", {"name": "continue-evaluation", "arguments": {"job": job}})
                   for _ in range(2)]
        self.assertEqual(server.request("ping")["result"], {}, "both are heard")
        gate.open()
        for request_id in waiting:
            self.assertEqual(support.text_of(server.wait_for(request_id)), ("=> 42", False))
        self.assertIn("NO-SUCH-JOB", server.call("continue-evaluation", job=job)[0])

    def test_the_caller_and_one_who_waits_are_both_answered(self):
        server = self.start_warm()
        gate = Gate(server.home)
        call = server.send_evaluation(f"(progn {gate.form} 42)")
        gate.wait_until_reached()
        other = server.send_request("tools/call", {"name": "continue-evaluation", "arguments": {}})
        self.assertEqual(server.request("ping")["result"], {})
        gate.open()
        self.assertEqual(support.text_of(server.wait_for(call)), ("=> 42", False))
        self.assertEqual(support.text_of(server.wait_for(other)), ("=> 42", False))

    def test_who_stops_waiting_does_not_stop_the_work(self):
        server = self.start_warm()
        gate = Gate(server.home)
        job = start_job(server, f"(progn {gate.form} 42)")
        waiting = server.send_request("tools/call", {"name": "continue-evaluation", "arguments": {"job": job}})
        server.notify("notifications/cancelled", {"requestId": waiting})
        self.assertEqual(server.request("ping")["result"], {})
        gate.open()
        self.assertEqual(server.call("continue-evaluation", job=job), ("=> 42", False))
        self.assertEqual(server.close(), 0)
        self.assertEqual(server.rest(), [], "what was cancelled is not answered")

    def test_a_call_that_became_a_job_cannot_be_cancelled_any_more(self):
        server = self.start_warm()
        gate = Gate(server.home)
        call = server.send_evaluation(f"(progn {gate.form} 42)", wait=0)
        job = job_of(support.text_of(server.wait_for(call))[0])
        server.notify("notifications/cancelled", {"requestId": call})
        self.assertEqual(server.request("ping")["result"], {})
        gate.open()
        self.assertEqual(server.call("continue-evaluation", job=job), ("=> 42", False))

    def test_finished_jobs_are_kept_up_to_a_hundred(self):
        server = self.start_warm()
        gate = Gate(server.home)
        first = start_job(server, f"(progn {gate.form} 'first)")
        others = [start_job(server, f"(+ {number} 1000)") for number in range(UNREAD_JOBS)]
        gate.open()
        self.assertEqual(server.evaluate("1"), ("=> 1", False), "all jobs are done")
        text, is_error = server.call("continue-evaluation", job=first)
        self.assertTrue(is_error)
        self.assertIn(f"There is no job {first} in this session", text)
        self.assertIn(str(UNREAD_JOBS), text, "why it may be gone")
        self.assertEqual(server.call("continue-evaluation", job=others[-1]), (f"=> {1000 + UNREAD_JOBS - 1}", False))
        for number in range(UNREAD_JOBS - 1):
            self.assertEqual(server.call("continue-evaluation"), (f"=> {1000 + number}", False), "the oldest comes first")
        self.assertIn("no finished job waits to be read", server.call("continue-evaluation")[0])

    def test_who_would_wait_for_another_call_is_told_which(self):
        server = self.start_warm()
        gate = Gate(server.home)
        running = start_job(server, f"(progn 'the-one-before {gate.form})")
        text, is_error = server.evaluate("'after", wait=0)
        self.assertFalse(is_error)
        self.assertRegex(text, rf"\A\[WAITING\] Job \d+ \(evaluate-lisp 'after\).* it waits for job {running} "
                               r"\(evaluate-lisp \(progn 'the-one-before .*running for")
        gate.open()
        self.assertEqual(server.call("continue-evaluation", job=job_of(text)), ("=> AFTER", False))

    def test_calls_to_a_session_are_carried_out_in_order(self):
        server = self.start_warm()
        gate = Gate(server.home)
        start_job(server, f"(progn (defvar *order* nil) {gate.form})")
        calls = [server.send_evaluation(f"(car (push {number} *order*))") for number in range(20)]
        gate.open()
        for number, call in enumerate(calls):
            self.assertEqual(support.text_of(server.wait_for(call)), (f"=> {number}", False))
        text, _ = server.evaluate("(equal *order* (loop for i from 19 downto 0 collect i))")
        self.assertEqual(text, "=> T")

    def test_a_job_that_dies_says_so_to_who_waits_for_it(self):
        server = self.start_warm()
        gate = Gate(server.home)
        job = start_job(server, f"(progn (setf *kept* 'changed) {gate.form})")
        gate.wait_until_reached()
        os.kill(server.workers()[0], signal.SIGKILL)
        text, is_error = server.call("continue-evaluation", job=job)
        self.assertTrue(is_error)
        self.assertIn("killed by signal 9 (Killed). The session is back to its state before this call.", text)
        self.assertEqual(server.evaluate("*kept*"), ("=> KEPT", False))

    def test_loading_a_system_can_outlive_its_wait_too(self):
        server = self.start_warm()
        gate = Gate(server.home)
        server.home.write("slow.asd", '(defsystem "slow" :components ((:file "slow")))')
        server.home.write("slow.lisp", f"(cl:in-package :cl-user)\n(defvar *slow* (progn {gate.form} 'loaded))\n")
        text, is_error = server.call("load-system", system="slow", wait=0)
        self.assertFalse(is_error, text)
        gate.wait_until_reached()
        gate.open()
        text, is_error = server.call("continue-evaluation", job=job_of(text))
        self.assertFalse(is_error, text)
        self.assertEqual(server.evaluate("*slow*"), ("=> LOADED", False))

    def test_any_call_that_waits_for_its_turn_gives_its_own_answer_later(self):
        server = self.start_warm()
        gate = Gate(server.home)
        start_job(server, gate.form)
        expected = {
            ("checkpoints", ("action", "save"), ("name", "here")): "Saved checkpoint 'here'",
            ("list-definitions",): "*KEPT*",
            ("undo",): "Undone: ",
            ("checkpoints", ("action", "restore"), ("name", "here")): "Restored checkpoint 'here'",
            ("sessions", ("action", "fork"), ("to", "copy")): "Session 'copy' is open",
            ("reset-session",): "Session reset. All definitions cleared.\nCurrent package: CL-USER",
        }
        jobs = {call: job_of(server.call(call[0], wait=0, **dict(call[1:]))[0]) for call in expected}
        gate.open()
        for call, words in expected.items():
            with self.subTest(call[0]):
                text, is_error = server.call("continue-evaluation", job=jobs[call])
                self.assertFalse(is_error, text)
                self.assertIn(words, text)

    def test_a_session_that_waits_before_its_first_call_says_for_what(self):
        server = self.start()
        text, is_error = server.evaluate("(+ 1 2)", wait=0)
        self.assertFalse(is_error)
        if "[WAITING]" in text:
            self.assertIn("it waits for the session's Lisp to be ready", text)
        self.assertEqual(server.call("continue-evaluation", job=job_of(text)), ("=> 3", False))

    def test_at_the_end_of_input_a_job_is_not_waited_for(self):
        """Nobody is there to read it."""
        server = self.start_warm()
        start_job(server, f"(progn {Gate(server.home).form})")
        self.assertEqual(server.close(seconds=support.GONE_SECONDS), 0)


class Progress(support.TestCase):
    def flood(self, server, seconds, **arguments):
        code = (f"(let ((end (+ (get-internal-real-time) (* {seconds} internal-time-units-per-second)))) "
                '(loop for i from 0 while (< (get-internal-real-time) end) do (format t "line ~d~%" i)))')
        return server.send_request("tools/call", {"name": "evaluate-lisp", "_meta": {"progressToken": "flood"},
                                                  "arguments": {"code": code, "budget": 1000, **arguments}})

    def test_a_flood_is_told_of_a_few_times_a_second(self):
        server = self.start()
        server.evaluate("1")
        since = time.monotonic()
        server.wait_for(self.flood(server, 2))
        most = (time.monotonic() - since) / PROGRESS_PAUSE + 1
        told = server.take_progress("flood")
        self.assertGreaterEqual(len(told), 2)
        self.assertLessEqual(len(told), most)
        numbers = [int(re.fullmatch(r"line (\d+)", message)[1]) for _, message in told]
        self.assertEqual(numbers, sorted(set(numbers)), "each tells of the latest line")
        self.assertEqual([progress for progress, _ in told], sorted({progress for progress, _ in told}))

    def test_who_waits_again_with_a_token_of_their_own_hears_of_it(self):
        server = self.start()
        server.evaluate("1")
        gate = Gate(server.home)
        job = start_job(server, f'(progn {gate.form} (write-line "news") (finish-output) 42)')
        waiting = server.send_request("tools/call", {"name": "continue-evaluation", "_meta": {"progressToken": 7},
                                                     "arguments": {"job": job}})
        self.assertEqual(server.request("ping")["result"], {})
        gate.open()
        server.wait_for(waiting)
        self.assertEqual(server.take_progress(7), [(1, "news")])

    def test_without_a_token_nobody_hears_of_anything(self):
        server = self.start()
        server.evaluate('(progn (write-line "news") (finish-output))')
        self.assertEqual(server.close(), 0)
        self.assertEqual(server.rest(), [])


class Ladder(support.TestCase):
    """Interrupted, timed out or cancelled: it unwinds, or its process is ended and the session goes back."""

    def start_inside(self, server, code, **arguments):
        gate = Gate(server.home)
        gate.open()
        call = server.send_evaluation(code.replace("INSIDE", gate.form), **arguments)
        gate.wait_until_reached()
        return call

    def test_an_interrupt_unwinds_and_says_where_the_code_was(self):
        server = self.start()
        server.evaluate("(defun spin () (loop)) (defvar *cleaned* nil) (defvar *x* 1)")
        call = self.start_inside(server, '(unwind-protect (progn (setf *x* 2) (write-line "so far") INSIDE (spin)) '
                                         "(setf *cleaned* t))")
        interrupt = server.call("interrupt-evaluation")
        self.assertEqual(support.text_of(server.wait_for(call)), interrupt, "both are told the same")
        text, is_error = interrupt
        self.assertTrue(is_error)
        self.assertTrue(text.startswith("[stdout]\nso far\n\n[ERROR] INTERRUPTED\nThe evaluation was interrupted: it unwound, its "
                                        "cleanup forms ran, and the session keeps what it did until then."), text)
        self.assertRegex(text, r"\[Backtrace\]\n0: \(SPIN\)")
        self.assertEqual(server.evaluate("(list *x* *cleaned*)"), ("=> (2 T)", False))

    def test_a_timeout_unwinds_and_says_where_the_code_was(self):
        server = self.start()
        server.evaluate("(defun spin () (loop)) (defvar *x* 1)")
        text, is_error = server.evaluate('(progn (setf *x* 2) (write-line "so far") (finish-output) (spin))', timeout=0.5)
        self.assertTrue(is_error)
        self.assertTrue(text.startswith("[stdout]\nso far\n\n[ERROR] TIMEOUT\nThe evaluation reached its timeout of 0.5 s and was "
                                        "interrupted: it unwound, its cleanup forms ran"), text)
        self.assertRegex(text, r"\[Backtrace\]\n0: \(SPIN\)")
        self.assertEqual(server.evaluate("*x*"), ("=> 2", False))

    def test_a_timeout_is_for_the_work_and_not_for_the_queue(self):
        server = self.start()
        server.evaluate("1")
        gate = Gate(server.home)
        start_job(server, gate.form)
        waiting = start_job(server, "'done", timeout=0.05)
        text, _ = server.call("continue-evaluation", job=waiting, wait=0.2)
        self.assertTrue(text.startswith("[WAITING]"), text)
        gate.open()
        self.assertEqual(server.call("continue-evaluation", job=waiting), ("=> DONE", False))

    def test_what_ignores_an_interrupt_is_ended_and_the_state_is_as_before(self):
        server = self.start(*GRACE)
        server.evaluate("(defvar *x* 'kept)")
        for name, form in STUBBORN_FORMS.items():
            with self.subTest(name):
                call = self.start_inside(server, f'(progn (setf *x* 1) (write-line "so far") (finish-output) {form})')
                interrupt = server.call("interrupt-evaluation")
                self.assertEqual(support.text_of(server.wait_for(call)), interrupt, "both are told the same")
                text, is_error = interrupt
                self.assertTrue(is_error)
                self.assertTrue(text.startswith(
                    "[stdout]\nso far\n\n[ERROR] INTERRUPTED\nThe evaluation did not stop when it was interrupted, so its Lisp "
                    "process was ended. The session is back to its state before that evaluation."), text)
                self.assertTrue("[Backtrace]" in text or "Where it was is not known" in text, text)
                self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))
        self.assertEqual(server.close(), 0)

    def test_a_timeout_ends_what_ignores_it_too(self):
        server = self.start(*GRACE)
        server.evaluate("(defvar *x* 'kept)")
        text, is_error = server.evaluate("(progn (setf *x* 1) (sb-sys:without-interrupts (loop)))", timeout=0.1)
        self.assertTrue(is_error)
        self.assertIn("[ERROR] TIMEOUT\nThe evaluation reached its timeout of 0.1 s and did not stop when it was interrupted, so "
                      "its Lisp process was ended. The session is back to its state before that evaluation.", text)
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))

    def test_the_grace_is_what_the_flag_says(self):
        server = self.start("--interrupt-grace", "2")
        server.evaluate("1")
        self.start_inside(server, STUBBORN_FORMS["has interrupts disabled"])
        since = time.monotonic()
        server.call("interrupt-evaluation")
        self.assertGreaterEqual(time.monotonic() - since, 1.9)
        self.assertLess(time.monotonic() - since, 4.5)

    def test_a_waiting_call_is_taken_back_and_the_running_one_goes_on(self):
        server = self.start()
        server.evaluate("(defvar *x* 'kept)")
        gate = Gate(server.home)
        running = start_job(server, f"(progn {gate.form} 42)")
        waiting = start_job(server, "(setf *x* 'changed)")
        text, is_error = server.call("interrupt-evaluation", job=waiting)
        self.assertEqual((text, is_error), ("[ERROR] INTERRUPTED\nTaken back before it was started.", True))
        gate.open()
        self.assertEqual(server.call("continue-evaluation", job=running), ("=> 42", False))
        self.assertEqual(server.evaluate("*x*"), ("=> KEPT", False))

    def test_interrupting_what_is_done_gives_its_answer(self):
        server = self.start()
        server.evaluate("1")
        gate = Gate(server.home)
        job = start_job(server, f"(progn {gate.form} 42)")
        gate.open()
        server.evaluate("1")
        self.assertEqual(server.call("interrupt-evaluation", job=job), ("=> 42", False))
        text, is_error = server.call("interrupt-evaluation")
        self.assertTrue(is_error)
        self.assertIn("Nothing is running in this session", text)


if __name__ == "__main__":
    unittest.main()
