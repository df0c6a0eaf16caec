#!/usr/bin/env python3
"""The agent from outside: a real worker image over a socket pair, hostile code included.

Run with CL_MCP_WORKER=/path/of/image (default: build/cl-mcp-worker). Needs nothing but Python 3.9.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from worker import IMAGE, REPO, Died, Worker


class Case(unittest.TestCase):
    """One worker for all the tests of a class; each test starts from `setUp`'s checked state."""

    options = ()
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="cl-mcp-agent-test-")
        cls.worker = cls.start()

    @classmethod
    def tearDownClass(cls):
        cls.worker.close()
        shutil.rmtree(cls.directory)

    @classmethod
    def start(cls, **keys):
        keys.setdefault("options", cls.options)
        keys.setdefault("environment", {"CL_MCP_QUICKLISP": None, "HOME": cls.directory,
                                        "XDG_CACHE_HOME": None})
        return Worker(directory=cls.directory, **keys)

    def tearDown(self):
        # Whatever a test did, the next evaluation works and nothing is left in the pipes.
        self.assertEqual(["3"], self.worker.eval("(cl:+ 1 2)", "COMMON-LISP-USER").get("values"))
        self.worker.eval("(cl:in-package :cl-user)")
        self.worker.take_output("stdout")
        self.worker.take_output("stderr")

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def values(self, code, package=None):
        done = self.worker.eval(code, package)
        self.assertNotIn("condition", done, code)
        return done["values"]

    def value(self, code, package=None):
        return self.values(code, package)[0]

    def warnings(self, code):
        return self.worker.eval(code).get("warnings", [])

    def failure(self, code, package=None):
        done = self.worker.eval(code, package)
        self.assertIn("condition", done, code)
        return done["condition"]

    def fails(self, code, kind, message=None, backtrace=None):
        failure = self.failure(code)
        self.assertEqual(kind, failure["type"], code)
        if message is not None:
            self.assertEqual(message, failure["message"], code)
        if backtrace is not None:
            self.assertEqual(backtrace, failure.get("backtrace", []), code)
        return failure


class Evaluation(Case):
    def test_a_value_is_printed(self):
        self.assertEqual(["3"], self.values("(+ 1 2)"))

    def test_every_value_of_the_last_form_is_given(self):
        self.assertEqual(["3", "2"], self.values("(+ 1 1) (floor 17 5)"))

    def test_no_values_and_no_forms_are_an_empty_list(self):
        for code in ("(values)", "", "  \n ; only a comment\n", "#| block |#"):
            self.assertEqual([], self.values(code))

    def test_forms_are_read_one_by_one(self):
        code = "(defpackage :one-by-one (:use :cl)) (in-package :one-by-one) (defun f () 1) (f)"
        self.assertEqual(["1"], self.values(code))
        self.assertEqual("ONE-BY-ONE", self.worker.eval("1")["package"])

    def test_the_full_reader_is_there(self):
        self.assertEqual("3", self.value("#.(+ 1 2)"))
        self.assertEqual("#C(1 2)", self.value("#c(1 2)"))

    def test_the_variables_of_a_repl_are_kept(self):
        self.values("(list 1 2)")
        self.values("(values 3 4)")
        self.assertEqual("(3 (1 2) (VALUES 3 4) (LIST 1 2) (3 4))", self.value("(list * ** + ++ /)"))
        self.assertEqual("(LIST -)", self.value("(list -)")[1:-1])

    def test_what_a_repl_keeps_is_kept(self):
        self.values("(defvar *kept* (random 1000)) (setf *print-base* 16)")
        try:
            self.assertEqual("FF", self.value("255"))
            # Our own words stay decimal.
            self.assertEqual("255", self.failure('(error "~A" 255)')["message"])
        finally:
            self.values("(setf *print-base* 10.)")

    def test_dynamic_bindings_do_not_leak(self):
        self.values("(defvar *leak* 1) (let ((*leak* 2)) *leak*)")
        self.assertEqual("1", self.value("*leak*"))

    def test_a_readtable_is_kept(self):
        self.values("(setf *readtable* (copy-readtable)) "
                    "(set-macro-character #\\! (lambda (s c) (declare (ignore s c)) 77))")
        self.assertEqual("77", self.value("!"))
        self.values("(setf *readtable* (copy-readtable nil))")

    def test_large_code_and_any_character_pass(self):
        self.assertEqual('"λ→𝄞"', self.value('"λ→𝄞"'))
        self.assertEqual("1000000", self.value('(length "%s")' % ("λ" * 1000000)))
        self.assertEqual('"\ufffd"', self.value("(string (code-char #xD800))"))


class Packages(Case):
    def test_a_package_holds_for_the_call_only(self):
        self.values("(defpackage :for-call (:use :cl))")
        self.assertEqual(["FOR-CALL-SYMBOL"], self.values("'for-call-symbol", "for-call"))
        done = self.worker.eval("(intern \"A\")", "FOR-CALL")
        self.assertEqual("COMMON-LISP-USER", done["package"])

    def test_in_package_lasts_always(self):
        self.values("(defpackage :lasting (:use :cl))")
        for code in ("(in-package :lasting)", "(progn (in-package :lasting))"):
            self.assertEqual("LASTING", self.worker.eval(code, "lasting")["package"])
            self.assertEqual("LASTING", self.worker.eval("1")["package"])
            self.worker.eval("(in-package :cl-user)")

    def test_an_unknown_package_is_refused(self):
        failure = self.failure("(+ 1 2)", "NONEXISTENT")
        self.assertEqual("PACKAGE-ERROR", failure["type"])
        self.assertEqual('The name "NONEXISTENT" does not designate any package.',
                         failure["message"])
        self.fails("(in-package :nonexistent)", "PACKAGE-ERROR",
                   'The name "NONEXISTENT" does not designate any package.')

    def test_a_deleted_package_falls_back_to_cl_user(self):
        self.values("(defpackage :doomed (:use :cl)) (in-package :doomed)")
        self.assertEqual("COMMON-LISP-USER", self.worker.eval("(delete-package *package*)")["package"])
        self.assertEqual("3", self.value("(+ 1 2)"))


class Streams(Case):
    def test_output_reaches_its_descriptor(self):
        self.values('(format t "out~%") (format *error-output* "err~%") (format *trace-output* "tr~%")')
        self.assertEqual("out\n", self.worker.take_output())
        self.assertEqual("err\ntr\n", self.worker.take_output("stderr"))

    def test_output_without_a_newline_is_there_too(self):
        self.values('(princ "λ")')
        self.assertEqual("λ", self.worker.take_output())

    def test_interactive_output_vanishes(self):
        self.values("(print 1 *query-io*) (print 2 *debug-io*) (print 3 *terminal-io*)")
        self.assertEqual("", self.worker.take_output() + self.worker.take_output("stderr"))

    def test_reading_says_that_nobody_answers(self):
        for code in ("(read-line)", "(read)", "(read-char)", '(y-or-n-p "really?")',
                     '(yes-or-no-p "really?")', "(read *query-io*)", "(read-line *debug-io*)",
                     "(read-char *terminal-io*)"):
            self.assertIn("Nobody can answer here", self.fails(code, "END-OF-FILE")["message"])

    def test_other_streams_keep_their_own_words(self):
        message = self.fails('(read (make-string-input-stream ""))', "END-OF-FILE")["message"]
        self.assertNotIn("Nobody", message)

    def test_streams_that_were_closed_or_replaced_come_back(self):
        for code in ("(close *standard-output*)", "(setf *standard-output* (make-broadcast-stream))",
                     "(close *error-output*)", "(makunbound '*standard-output*)",
                     "(close sb-sys:*stdout* :abort t)"):
            self.worker.eval(code)
            self.worker.take_output()
            self.values("(princ :again)")
            self.assertEqual("AGAIN", self.worker.take_output(), code)

    def test_output_of_children_and_threads_is_caught(self):
        self.values('(sb-ext:run-program "/bin/echo" (list "child") :output t)')
        self.assertEqual("child\n", self.worker.take_output())
        self.values("(sb-thread:join-thread (sb-thread:make-thread (lambda () (princ :thread))))")
        self.assertEqual("THREAD", self.worker.take_output())

    def test_children_do_not_inherit_the_control_socket(self):
        self.values('(sb-ext:run-program "/bin/ls" (list "/proc/self/fd") :output t)')
        listed = self.worker.take_output().split()
        self.assertEqual(["0", "1", "2"], listed[:3])
        self.assertLessEqual(len(listed), 4)  # the fourth is ls's own


class Failures(Case):
    def test_the_contracts_examples(self):
        self.fails("(/ 1 0)", "DIVISION-BY-ZERO",
                   "arithmetic error DIVISION-BY-ZERO signalled\nOperation was (/ 1 0).", ["(/ 1 0)"])
        self.fails("(never-defined 42)", "UNDEFINED-FUNCTION",
                   "The function COMMON-LISP-USER::NEVER-DEFINED is undefined.",
                   ["(NEVER-DEFINED 42)"])
        self.fails("(car 42)", "TYPE-ERROR", "The value 42 is not of type LIST.", ["(CAR 42)"])

    def test_frames_are_the_users(self):
        self.values("(defun inner (x) (list (car x))) (defun outer (x) (list (inner x)))")
        self.fails("(outer 42)", "TYPE-ERROR", backtrace=["(INNER 42)", "(OUTER 42)"])
        self.fails("(let ((x (list 1))) (car (car x)))", "TYPE-ERROR",
                   backtrace=["(LET ((X (LIST 1))) (CAR (CAR X)))"])
        self.fails('(error "top")', "SIMPLE-ERROR", "top", ['(ERROR "top")'])
        self.fails("(defun sum (a b) (list (+ a b))) (sum 1 'x)", "TYPE-ERROR",
                   backtrace=["(+ 1 X)", "(SUM 1 X)"])
        self.fails("(mapcar (lambda (x) (error \"~A\" x)) '(1))", "SIMPLE-ERROR", "1")
        self.fails("(defgeneric area (x)) (area 1)", "ERROR", backtrace=["(AREA 1)"])

    def test_the_first_frame_is_the_call_as_it_was_written(self):
        self.values("(defclass slotted () ((s :accessor slot-of)))"
                    " (defmacro failing (x) (error \"bad ~a\" x)) (defun plain () 3)"
                    " (defclass starting () ((s :initform (error \"init\"))))")
        for code, frames in (
                ("(nth -1 '(1 2))", ["(NTH -1 '(1 2))"]),
                ("(list (nth -1 '(1 2)))", ["(NTH -1 '(1 2))"]),
                ("(slot-of (make-instance 'slotted))", ["(SLOT-OF (MAKE-INSTANCE 'SLOTTED))"]),
                ("(make-instance 'slotted :foo 1)", ["(MAKE-INSTANCE 'SLOTTED :FOO 1)"]),
                ("(make-instance 'starting)", ["(MAKE-INSTANCE 'STARTING)"]),
                ('(char "abc" 5)', ['(CHAR "abc" 5)']),
                ("(gethash 1 2)", ["(GETHASH 1 2)"]),
                ("(concatenate 'string \"a\" 3)", ['(CONCATENATE STRING "a" 3)']),
                ('(format nil "~z" 3)', ['(FORMAT NIL "~z" 3)']),
                ("(< 1 nil)", ["(< 1 NIL)"]),
                ("(failing 3)", ["(FAILING 3)"]),
                ("(list (failing 4))", ["(FAILING 4)"]),
                ('(open "/nonexistent/x")', ['(OPEN "/nonexistent/x")']),
                ('(y-or-n-p "a")', ['(Y-OR-N-P "a")']),
                ("(defgeneric plain (x))", ["(DEFGENERIC PLAIN (X))"]),
                ("(in-package :nonexistent)", ["(IN-PACKAGE :NONEXISTENT)"]),
                ("(defun cl:car (x) x)", ["(DEFUN CAR (X) X)"]),
                ("(require :no-such-module)", ["(REQUIRE :NO-SUCH-MODULE)"]),
                ("(mapcar #'car '(1))", ["(CAR 1)", "(MAPCAR #<FUNCTION CAR> (1))"]),
                ("(some #'car '(1))", ["(CAR 1)", "(SOME #<FUNCTION CAR> (1))"]),
                ("(sort '(1 a) #'<)", ["(< A 1)", "(SORT '(1 A) #'<)"]),
                ("(mod 5 0)", ["(MOD 5 0)"])):
            self.assertEqual(frames, self.failure(code)["backtrace"], code)

    def test_an_undefined_function_is_told_the_same_way_again(self):
        for _ in range(3):
            self.fails("(still-undefined 42)", "UNDEFINED-FUNCTION",
                       "The function COMMON-LISP-USER::STILL-UNDEFINED is undefined.",
                       ["(STILL-UNDEFINED 42)"])

    def test_methods_of_the_users_on_standard_functions_are_frames(self):
        self.values("(defclass own () ())"
                    ' (defmethod initialize-instance :after ((it own) &key) (error "mine"))')
        frames = self.failure("(make-instance 'own)")["backtrace"]
        self.assertIn("(:METHOD INITIALIZE-INSTANCE :AFTER (OWN))", frames[0])
        self.assertEqual("(MAKE-INSTANCE 'OWN)", frames[-1])

    def test_loading_a_file_shows_its_frames_only(self):
        path = self.write("fails.lisp", "(defun in-file (x) (car x)) (list (in-file 3))")
        self.assertEqual(["(IN-FILE 3)", '(LOAD "%s")' % path],
                         self.failure('(load "%s")' % path)["backtrace"])
        self.worker.take_output("stderr")

    def test_type_errors_stand_on_one_line(self):
        self.fails("(let ((x 1)) (declare (type string x)) x)", "TYPE-ERROR",
                   "Value of 1 in (LET ((X 1)) (DECLARE (TYPE STRING X)) X) is 1, not a STRING.")

    def test_standard_types_have_no_prefix_anywhere(self):
        self.values("(defpackage :without-lisp (:use)) (in-package :without-lisp)")
        self.fails('(cl:error "x")', "SIMPLE-ERROR", "x")

    def test_at_most_twenty_frames_are_shown(self):
        code = '(defun deep (n) (if (= n 0) (error "bottom") (1+ (deep (1- n))))) (deep 100)'
        self.assertEqual(["(DEEP %d)" % n for n in range(20)], self.failure(code)["backtrace"])

    def test_arguments_are_printed_short_and_safely(self):
        self.values("(defclass nasty () ()) "
                    '(defmethod print-object ((o nasty) s) (declare (ignore s)) (error "no"))')
        frame = self.failure("(defun take (x) (list (car x))) (take (make-instance 'nasty))")["backtrace"][0]
        self.assertEqual("(TAKE #<unprintable NASTY>)", frame)
        frame = self.failure("(take (make-string 100000))")["backtrace"][0]
        self.assertLess(len(frame), 300)

    def test_multi_line_messages_of_the_user_stay(self):
        self.fails('(error "a~%  b")', "SIMPLE-ERROR", "a\n  b")

    def test_everything_that_ends_an_evaluation_is_answered_once(self):
        for code, kind in (("(throw 'no-such-tag 1)", "CONTROL-ERROR"), ("(abort)", "ABORTED"),
                           ("(invoke-restart 'abort)", "ABORTED"), ("(break)", "SIMPLE-CONDITION"),
                           ('(break "at ~A" 1)', "SIMPLE-CONDITION"),
                           ("(invoke-debugger (make-condition 'simple-error :format-control \"x\"))",
                            "SIMPLE-ERROR"),
                           ("(define-condition odd (condition) ()) (error 'odd)", "ODD"),
                           ("(define-condition grave (serious-condition) ()) (error 'grave)", "GRAVE"),
                           ("(let ((f (block b (lambda () (return-from b 1))))) (funcall f))",
                            "CONTROL-ERROR"),
                           ("(let ((sb-ext:*invoke-debugger-hook* nil)) (error \"x\"))", "SIMPLE-ERROR"),
                           ("(setf *debugger-hook* nil) (error \"x\")", "SIMPLE-ERROR"),
                           ("(let ((*break-on-signals* 'error)) (ignore-errors (error \"x\")))",
                            "SIMPLE-CONDITION"),
                           ("(cerror \"go on\" \"x\")", "SIMPLE-ERROR"), ("(assert (= 1 2))", "SIMPLE-ERROR")):
            self.fails(code, kind)
            self.assertEqual("", self.worker.take_output("stderr"), code)

    def test_a_signal_that_nobody_handles_goes_on(self):
        self.assertEqual("NIL", self.value('(signal "x")'))
        self.assertEqual("NIL", self.value("(signal (make-condition 'error))"))

    def test_a_users_debugger_hook_is_called(self):
        self.assertEqual("7", self.value(
            "(block b (let ((*debugger-hook* (lambda (c h) (declare (ignore c h)) (return-from b 7))))"
            ' (error "x")))'))

    def test_a_hook_of_sbcls_is_called_too(self):
        self.assertEqual("8", self.value(
            "(block b (let ((sb-ext:*invoke-debugger-hook* (lambda (c h) (declare (ignore c h))"
            ' (return-from b 8)))) (error "x")))'))

    def test_hooks_do_not_outlive_their_evaluation(self):
        self.values("(setf *debugger-hook* (lambda (c h) (declare (ignore c h)) (sb-ext:exit)))"
                    " (setf sb-ext:*invoke-debugger-hook* *debugger-hook*)")
        self.fails('(error "x")', "SIMPLE-ERROR")

    def test_a_hostile_report_is_survived(self):
        self.values("(define-condition hostile (error) () (:report (lambda (c s)"
                    " (declare (ignore c s)) (error 'hostile))))")
        self.assertIn("its report function failed", self.fails("(error 'hostile)", "HOSTILE")["message"])
        self.values("(define-condition wordy (error) () (:report (lambda (c s)"
                    " (declare (ignore c)) (loop (write-string \"word \" s)))))")
        self.assertLess(len(self.fails("(error 'wordy)", "WORDY")["message"]), 20000)

    def test_reader_errors_say_where(self):
        failure = self.fails("(+ 1 2)\n(list 1\n  (foo", "END-OF-FILE")
        self.assertIn("line 2, column 1", failure["message"])
        self.assertIn("The form before it was evaluated.", failure["message"])
        self.assertIn("line 1, column", self.fails("(+ 1 2))", "READER-ERROR")["message"])
        self.assertIn("Package NO-SUCH does not exist.",
                      self.fails("(no-such:thing)", "READER-ERROR")["message"])
        self.fails("(setf *read-eval* nil) #.(+ 1 2)", "READER-ERROR")
        self.values("(setf *read-eval* t)")

    def test_forms_before_a_reader_error_were_evaluated(self):
        self.failure("(defvar *before* 5) (")
        self.assertEqual("5", self.value("*before*"))

    def test_compile_errors_are_told_plainly(self):
        self.fails("(let ((x 1 2)) x)", "PROGRAM-ERROR",
                   "The code does not compile: The LET binding spec (X 1 2) is malformed.")
        self.assertEqual(["ERROR: The LET binding spec (X 1 2) is malformed."],
                         self.warnings("(defun broken () (let ((x 1 2)) x))"))

    def test_files_that_cannot_be_read_say_where(self):
        path = self.write("unreadable.lisp", "(+ 1 2)\n(list")
        self.assertIn(path + ":2:1", self.failure('(load "%s")' % path)["message"])


class Exhaustion(Case):
    options = ("--dynamic-space-size", "256MB")

    def test_the_stack_is_whole_again_every_time(self):
        self.values("(defun endless (n) (1+ (endless n)))")
        for _ in range(20):
            failure = self.fails("(endless 1)", "STORAGE-CONDITION")
            self.assertIn("Control stack exhausted", failure["message"])
            self.assertEqual(["(ENDLESS ...)"], failure["backtrace"])
            self.assertEqual("3", self.value("(+ 1 2)"))

    def test_the_users_handler_may_catch_it(self):
        self.values("(defun endless (n) (1+ (endless n)))")
        self.assertEqual(":CAUGHT", self.value(
            "(handler-case (endless 1) (storage-condition () :caught))"))

    def test_a_full_heap_is_survived(self):
        for code in ("(make-array (expt 10 10))", "(let (l) (loop (push (make-array 100000) l)))"):
            for _ in range(3):
                self.assertIn("Heap exhausted", self.fails(code, "STORAGE-CONDITION")["message"])
                self.assertEqual("1000000", self.value("(length (make-array 1000000))"))

    def test_printing_may_exhaust_the_stack(self):
        self.values("(defclass nest () ()) "
                    "(defmethod print-object ((n nest) s) (print-object n s) (princ 1 s))")
        self.assertIn("STORAGE-CONDITION", self.value("(make-instance 'nest)"))


class Printing(Case):
    def test_the_contracts_settings(self):
        self.assertEqual("#1=(1 2 3 . #1#)",
                         self.value("(let ((x (list 1 2 3))) (setf (cdddr x) x) x)"))
        self.assertEqual(100, self.value("(make-list 200)").count("NIL"))
        self.assertTrue(self.value("(make-list 200)").endswith("...)"))

    def test_a_value_that_cannot_be_printed_is_still_a_value(self):
        self.values("(defclass point () ()) "
                    '(defmethod print-object ((p point) s) (declare (ignore s)) (error "boom"))')
        self.assertEqual("#<POINT {error printing: SIMPLE-ERROR boom}>",
                         self.value("(make-instance 'point)"))

    def test_huge_values_are_cut(self):
        self.assertLess(len(self.value("(make-string 100000000)")), 1100000)
        self.assertIn("cut after", self.value("(make-string 2000000 :initial-element #\\x)")[-60:])
        self.assertLess(len(self.value("(make-array 1000000)")), 1000)
        self.assertLess(len(self.value("(let (x) (dotimes (i 100000) (setf x (list x))) x)")), 100)
        self.assertEqual(101, len(self.values("(values-list (make-list 1000))")))

    def test_hostile_printer_settings_are_survived(self):
        self.values("(setf *print-readably* t *print-length* 0 *print-circle* nil *print-pretty* nil)")
        self.assertEqual("(1 2 3)", self.value("(list 1 2 3)"))
        self.assertTrue(self.value("(find-package :cl)").startswith("#<"))
        self.values("(setf *print-readably* nil *print-length* nil *print-pretty* t)")


class HostilePrinter(Case):
    """While a method of the user's takes part in printing anything at all."""

    def hostile(self, *body):
        self.worker.eval("(defmethod print-object :around (x s) (declare (ignorable x s)) %s)"
                         % " ".join(body))
        self.addCleanup(self.worker.eval,
                        "(remove-method #'print-object (find-method #'print-object '(:around)"
                        " (list (find-class t) (find-class t))))")

    def tearDown(self):
        self.doCleanups()
        super().tearDown()

    def test_replies_stay_useful(self):
        self.values("(defun known (x) (list (car x))) (defvar *known* 7)")
        self.hostile('(error "no")')
        self.assertEqual("#<CONS {error printing: SIMPLE-ERROR no}>", self.value("(list 1)"))
        self.fails('(error "boom ~a ~s" 3 :x)', "SIMPLE-ERROR", "boom 3 :X",
                   ['(ERROR "boom ~a ~s" 3 :X)'])
        self.fails("(known 42)", "TYPE-ERROR", "The value 42 is not of type LIST.", ["(KNOWN 42)"])
        self.fails("(/ 1 0)", "DIVISION-BY-ZERO",
                   "arithmetic error DIVISION-BY-ZERO signalled\nOperation was (/ 1 0).", ["(/ 1 0)"])
        self.fails("(not-known 1)", "UNDEFINED-FUNCTION",
                   "The function COMMON-LISP-USER::NOT-KNOWN is undefined.", ["(NOT-KNOWN 1)"])
        self.assertIn("line 1, column 1", self.fails("(list", "END-OF-FILE")["message"])
        self.assertEqual(["WARNING: hi 3"], self.warnings('(warn "hi ~a" 3)'))
        listing = self.worker.call("list-definitions")["text"]
        for line in ("- KNOWN (X)", "- *KNOWN* = 7", "- PRINT-OBJECT :AROUND (T T)"):
            self.assertIn(line, listing)

    def test_one_that_never_ends_costs_the_value_only(self):
        self.values("(defvar *there* 7)")
        self.worker.eval("(setf cl-mcp-agent::*values-seconds* 1/10)")
        self.hostile("(loop)")
        self.assertEqual("#<CONS {printing took too long}>", self.value("(list (setf *there* 8))"))
        self.fails('(error "boom ~a" 3)', "SIMPLE-ERROR", "boom 3", ['(ERROR "boom ~a" 3)'])
        self.assertIn("- *THERE* = 8", self.worker.call("list-definitions")["text"])


class Warnings(Case):
    def quiet(self):
        self.assertEqual("", self.worker.take_output() + self.worker.take_output("stderr"))

    def test_the_contracts_example(self):
        done = self.worker.eval("(defun unused () (let ((x 10))))")
        self.assertEqual(["STYLE-WARNING: The variable X is defined but never used."],
                         done["warnings"])
        self.assertEqual(["UNUSED"], done["values"])
        self.quiet()

    def test_undefined_names_in_bodies_are_told(self):
        self.assertEqual(["STYLE-WARNING: undefined function: NO-FN", "WARNING: undefined variable: NO-VAR"],
                         sorted(self.warnings("(defun uses () (no-fn) no-var)")))
        self.assertEqual(["STYLE-WARNING: undefined type: NO-TYPE"],
                         self.warnings("(defun typed (x) (the no-type x))"))
        self.quiet()

    def test_assigning_at_top_level_is_no_matter_for_a_warning(self):
        done = self.worker.eval("(setf a1 10) (setf a2 20) (+ a1 a2)")
        self.assertEqual((["30"], None), (done["values"], done.get("warnings")))
        self.assertEqual([], self.warnings("(progn (setq a3 1 a4 2) (list a3 a4))"))
        self.assertEqual(["WARNING: undefined variable: A5"], self.warnings("(defun set5 () (setf a5 1))"))

    def test_the_error_tells_it_already(self):
        self.assertEqual([], self.warnings("(not-there 42)"))
        self.assertEqual([], self.warnings("(list not-there-var)"))
        self.assertEqual(["STYLE-WARNING: undefined function: OTHER-FN"],
                         self.warnings("(defun keeps () (other-fn)) (not-there 42)"))

    def test_what_the_same_call_defines_is_defined(self):
        self.assertEqual([], self.warnings("(defun first-one () (second-one)) (defun second-one () 1)"))

    def test_redefining_ones_own_is_no_matter_for_a_warning(self):
        for _ in range(2):
            self.assertEqual([], self.warnings(
                "(defun mine () 1) (defmacro mine-too () 2) (defstruct mine-also x) "
                "(defgeneric my-gf (x)) (defmethod my-gf ((x integer)) x)"))
        self.assertEqual(["STYLE-WARNING: redefining UIOP/UTILITY:STRCAT in DEFUN"],
                         self.warnings("(defun uiop:strcat (&rest strings) strings)"))
        self.quiet()

    def test_warnings_at_run_time_are_told(self):
        self.assertEqual(["WARNING: careful 1"], self.warnings('(warn "careful ~A" 1)'))
        self.assertEqual(["MY-WARNING: mind"], self.warnings(
            '(define-condition my-warning (warning) () (:report "mind")) (warn \'my-warning)'))
        self.assertEqual(101, len(self.warnings('(dotimes (i 200) (warn "~A" i))')))
        self.assertEqual(["WARNING: same"], self.warnings('(dotimes (i 200) (warn "same"))'))
        self.quiet()

    def test_the_compiler_is_not_heard(self):
        self.assertEqual(["WARNING: The function CAR is called with three arguments, but wants exactly one."],
                         self.warnings("(defun three () (car 1 2 3))"))
        self.worker.eval("(defun slow (x) (declare (optimize speed)) (+ x 1))")
        path = self.write("noisy.lisp", "(defun noisy () (let ((x 1))) (nowhere))")
        self.worker.eval('(let ((*compile-verbose* nil)) (compile-file "%s"))' % path)
        self.quiet()

    def test_the_compiler_still_answers_the_user(self):
        self.assertEqual(["T", "T"], self.values("(compile nil '(lambda () (car 1 2 3)))")[1:])

    def test_what_the_user_prints_while_compiling_is_heard(self):
        self.values('(defmacro loud () (format *error-output* "loud~%") 1) (defun use-loud () (loud))')
        self.assertEqual("loud\n", self.worker.take_output("stderr"))


class Interrupts(Case):
    def interrupted(self, code, mark="ready"):
        """The condition of CODE, interrupted once it has printed its mark."""
        self.worker.start("evaluate", code=code.replace("MARK", '(princ "%s") (finish-output)' % mark),
                          package=None)
        self.worker.wait_for_output(mark)
        self.worker.interrupt()
        failure = self.worker.finish()["condition"]
        self.worker.take_output()
        self.assertEqual(("INTERRUPTED", "Evaluation interrupted."),
                         (failure["type"], failure["message"]), code)
        return failure

    def test_it_stops_whatever_runs(self):
        for code in ("MARK (loop)", "MARK (sleep 100)", "MARK (handler-case (loop) (error () 1))",
                     "MARK (handler-case (sleep 100) (condition () 1))",
                     'MARK (sb-ext:run-program "/bin/sleep" (list "100"))',
                     "#.(progn MARK (loop))",
                     "(defclass slow () ()) (defmethod print-object ((o slow) s) (declare (ignore s))"
                     " MARK (loop)) (make-instance 'slow)",
                     "(defmacro slow () MARK (loop)) (defun use-slow () (slow))",
                     "MARK (loop (make-list 1000))"):
            self.interrupted(code)
            self.assertEqual("3", self.value("(+ 1 2)"))

    def test_cleanup_forms_run(self):
        self.interrupted("(defvar *clean* nil) (unwind-protect (progn MARK (loop)) (setf *clean* t))")
        self.assertEqual("T", self.value("*clean*"))

    def test_it_tells_where_the_code_was(self):
        failure = self.interrupted("(defun spin (x) MARK (loop (setf x (list x)) (setf x 1)))"
                                   " (list (spin 1))")
        self.assertTrue(any(frame.startswith("(SPIN") for frame in failure["backtrace"]))

    def test_it_tells_so_before_it_unwinds(self):
        failure = self.interrupted("(defun spin () MARK (loop)) (list (spin))")
        self.assertEqual([failure["backtrace"]], self.worker.interrupting)

    def test_it_tells_where_the_code_was_even_when_a_cleanup_form_never_ends(self):
        self.worker.start("evaluate", code="(defun spin () (princ :spin) (finish-output) (loop))"
                          " (defun tidy () (princ :tidy) (finish-output) (loop))"
                          " (unwind-protect (list (spin)) (tidy))", package=None)
        for function in ("SPIN", "TIDY"):
            self.worker.wait_for_output(function)
            self.worker.interrupt_request(self.worker.next_id)
            said = self.worker.receive()
            self.assertEqual(("interrupting", self.worker.next_id), (said["message"], said["id"]))
            self.assertTrue(any(frame.startswith("(" + function) for frame in said["backtrace"]), said)
        self.assertEqual("INTERRUPTED", self.worker.finish()["condition"]["type"])
        self.worker.take_output()

    def test_a_backtrace_that_never_ends_printing_holds_it_up_for_a_second_only(self):
        self.values("(defclass endless () ()) (defmethod print-object ((e endless) s)"
                    " (declare (ignore s)) (loop)) (defun spin (x) MARK (loop (setf x (list x))"
                    " (setf x (first x))))".replace("MARK", '(princ "ready") (finish-output)'))
        self.worker.start("evaluate", code="(mapcar 'spin (list (make-instance 'endless)))", package=None)
        self.worker.wait_for_output("ready")
        self.worker.interrupt()
        self.assertEqual("INTERRUPTED", self.worker.finish()["condition"]["type"])
        self.assertIn("printing took too long", str(self.worker.interrupting))
        self.worker.take_output()

    def test_a_storm_of_interrupts_tears_no_frame(self):
        for _ in range(100):
            self.worker.start("evaluate", code="(loop)", package=None)
            for _ in range(20):
                self.worker.interrupt_request(self.worker.next_id)
            self.assertEqual("INTERRUPTED", self.worker.finish()["condition"]["type"])
            # By this answer all of them have come: the kernel drops a signal while one like it is pending.
            self.assertEqual("3", self.value("(+ 1 2)"))

    def test_a_signal_for_a_request_stops_it_and_no_other(self):
        for _ in range(1000):
            self.worker.start("evaluate", code="(loop)", package=None)
            self.worker.interrupt_request(self.worker.next_id)
            self.assertEqual("INTERRUPTED", self.worker.finish()["condition"]["type"])
            self.worker.interrupt_request(self.worker.next_id)
            self.assertEqual("3", self.value("(+ 1 2)"))

    def test_a_thread_of_the_users_does_not_swallow_it(self):
        self.values("(defvar *thread* (sb-thread:make-thread (lambda () (sleep 100))))")
        self.interrupted("MARK (loop)")
        self.values("(sb-thread:terminate-thread *thread*)")

    def test_the_signals_of_a_terminal_are_not_swallowed_by_without_interrupts_for_ever(self):
        self.interrupted("(sb-sys:without-interrupts MARK (dotimes (i 1000000) (list i))) (loop)")


class Definitions(Case):
    def setUp(self):
        self.worker.close()
        type(self).worker = self.start()

    def listing(self, kind=None):
        return self.worker.call("list-definitions", type=kind)["text"]

    def test_nothing_is_defined_at_first(self):
        for kind in (None, "all", "functions"):
            self.assertEqual("No user definitions.", self.listing(kind))

    def test_an_unknown_type_is_refused(self):
        done = self.worker.call("list-definitions", type="nonsense")
        self.assertEqual("PROTOCOL-ERROR", done["condition"]["type"])

    def test_the_contracts_listing(self):
        self.values("(defun square (x) (* x x)) (defun factorial (n) n) (defvar *counter* 0)"
                    " (defparameter *debug-mode* nil) (defmacro with-timing (&body body) `(progn ,@body))"
                    " (defclass point () ())")
        self.assertEqual("[Functions]\n- SQUARE (X)\n- FACTORIAL (N)\n\n"
                         "[Variables]\n- *COUNTER* = 0\n- *DEBUG-MODE* = NIL\n\n"
                         "[Macros]\n- WITH-TIMING (&BODY BODY)\n\n[Classes]\n- POINT", self.listing())
        self.assertEqual("[Functions]\n- SQUARE (X)\n- FACTORIAL (N)", self.listing("functions"))
        self.assertEqual("[Classes]\n- POINT", self.listing("classes"))

    def test_every_kind_has_its_line(self):
        self.values("(defgeneric area (shape)) (defstruct pt x) (defmethod area ((s pt)) 1)"
                    " (defmethod area ((s integer)) 1) (define-condition my-error (error) ())"
                    " (deftype small () '(integer 0 9)) (defun (setf place) (v x) (list v x))"
                    " (defvar *unbound*) (defconstant +c+ 3) (setf plain 5)"
                    " (defclass person () ((name :accessor name-of)))"
                    " (defmethod print-object ((p person) s) (princ 1 s)) (defun no-args () 1)")
        self.assertEqual(
            "[Functions]\n- AREA (SHAPE) [generic, 2 methods]\n- (SETF PLACE) (V X)\n- NO-ARGS ()\n"
            "- (SETF NAME-OF) (NEW-VALUE OBJECT) [generic, 1 method]\n"
            "- NAME-OF (OBJECT) [generic, 1 method]\n\n"
            "[Variables]\n- *UNBOUND* (unbound)\n- +C+ = 3\n- PLAIN = 5\n\n"
            "[Classes]\n- PT [structure]\n- MY-ERROR [condition]\n- PERSON\n\n"
            "[Methods]\n- PRINT-OBJECT (PERSON T)\n\n[Types]\n- SMALL", self.listing())

    def test_names_are_relative_to_the_sessions_package(self):
        self.values("(defpackage :elsewhere (:use :cl)) (in-package :elsewhere) (defun there (a) a)"
                    " (in-package :cl-user) (defun here () 1)")
        self.assertEqual("[Functions]\n- ELSEWHERE::THERE (ELSEWHERE::A)\n- HERE ()", self.listing())
        self.values("(in-package :elsewhere)")
        self.assertIn("- THERE (A)", self.listing())

    def test_what_a_file_defines_is_the_sessions(self):
        path = self.write("own.lisp", "(defun from-file (x) x)")
        self.values('(load "%s")' % path)
        self.assertEqual("[Functions]\n- FROM-FILE (X)", self.listing())

    def test_redefinitions_of_others_are_the_sessions(self):
        self.values("(defun uiop:strcat (&rest strings) strings)")
        self.assertIn("STRCAT (&REST STRINGS)", self.listing())

    def test_sbcls_own_business_is_not_the_sessions(self):
        self.worker.eval("(list (compile nil '(lambda (x) (sqrt x))) (make-hash-table) (random 10))"
                         " (format nil \"~R ~F ~/pprint-fill/\" 12 1.5 '(1 2)) (describe 'car) (uiop:hostname)"
                         " (sb-ext:gc :full t) (sb-thread:join-thread (sb-thread:make-thread #'list))"
                         " (with-open-file (s \"/dev/null\") (read-line s nil)) (trace car) (untrace)"
                         " (directory \"/tmp/*.*\") (time (list 1)) (disassemble 'identity) (ignore-errors (car 1))")
        self.worker.eval("(inspect 1)")
        self.assertEqual("No user definitions.", self.listing())

    def test_a_value_that_never_ends_printing_can_be_interrupted(self):
        self.values("(defclass endless () ()) (defvar *endless* (make-instance 'endless))"
                    " (defmethod print-object ((e endless) s) (declare (ignore s))"
                    " (princ :printing) (finish-output) (loop))")
        self.worker.start("list-definitions", type="variables")
        self.worker.wait_for_output("PRINTING")
        self.worker.interrupt()
        self.assertEqual("INTERRUPTED", self.worker.finish()["condition"]["type"])

    def test_values_that_never_end_printing_are_given_up(self):
        self.values("(defclass endless () ()) (defvar *endless* (make-instance 'endless))"
                    " (defvar *more* (list *endless*)) (defvar *number* 3)"
                    " (defmethod print-object ((e endless) s) (declare (ignore s))"
                    " (handler-case (unwind-protect (loop) (loop)) (condition () (loop))))")
        for _ in range(2):
            self.assertEqual("[Variables]\n- *ENDLESS* = #<ENDLESS {printing took too long}>\n"
                             "- *MORE* = #<CONS {printing took too long}>\n- *NUMBER* = 3",
                             self.listing("variables"))
        self.assertEqual(1, len(os.listdir("/proc/%d/task" % self.worker.process.pid)))
        self.assertEqual("NIL", self.value("(sb-ext:list-all-timers)"))

    def test_another_name_for_a_function_is_a_definition(self):
        self.values("(setf (symbol-function 'alias) #'car) (defun :keyworded () 1)")
        self.assertEqual("[Functions]\n- :KEYWORDED ()\n- ALIAS (LIST)", self.listing())

    def test_a_value_of_several_lines_is_cut_and_says_so(self):
        self.values('(defvar *lines* (format nil "a~%b"))')
        self.assertEqual('[Variables]\n- *LINES* = "a ...', self.listing())

    def test_hostile_values_are_survived(self):
        self.values("(defclass bad () ()) (defmethod print-object ((b bad) s) (error \"no\"))"
                    " (defvar *bad* (make-instance 'bad)) (defvar *long* (make-list 1000))"
                    ' (defvar *lines* (format nil "a~%b"))')
        listing = self.listing("variables")
        self.assertIn("- *BAD* = #<unprintable BAD>", listing)
        self.assertTrue(all(len(line) < 130 for line in listing.split("\n")))


class Replay(Case):
    """What an evaluation says can be evaluated again."""

    def definitions(self, code, package=None):
        return self.worker.eval(code, package).get("definitions")

    def test_an_evaluation_that_defines_nothing_says_nothing(self):
        self.assertNotIn("definitions", self.worker.eval("(+ 1 2) (setf *x* 1) (list 'defun)"))

    def test_definitions_are_as_written_with_the_package_they_were_read_in(self):
        code = ("; first\n(defpackage :replayed (:use :cl))\n(+ 1 2)(in-package :replayed) "
                '(defun λ (x) ; say "→"\n  "𝄞" x)\n(λ 1)')
        self.assertEqual([["(defpackage :replayed (:use :cl))", "COMMON-LISP-USER"],
                          ["(in-package :replayed)", "COMMON-LISP-USER"],
                          ['(defun λ (x) ; say "→"\n  "𝄞" x)', "REPLAYED"]], self.definitions(code))
        self.assertEqual([["(defvar *there* 1)", "REPLAYED"]],
                         self.definitions("(defvar *there* 1)", "replayed"))

    def test_what_failed_is_none_and_what_came_before_is(self):
        code = "(defun before () 1) (defvar *broken* (car 1)) (defun behind () 2)"
        done = self.worker.eval(code)
        self.assertEqual([["(defun before () 1)", "COMMON-LISP-USER"]], done["definitions"])
        self.assertIn("condition", done)
        self.assertEqual([["(defvar *a* 1)", "COMMON-LISP-USER"]],
                         self.definitions("(defvar *a* 1) (unfinished"))

    def test_a_value_that_cannot_be_printed_does_not_hide_its_form(self):
        self.values("(defclass sulking () ())"
                    "(defmethod print-object ((o sulking) s) (error \"no\"))")
        code = "(let () (defvar *sulking* 1) (make-instance 'sulking))"
        self.assertEqual([[code, "COMMON-LISP-USER"]], self.definitions(code))

    def test_macros_of_the_users_own_count_by_their_name(self):
        self.values("(defmacro define-thing (name) `(defvar ,name 1))")
        self.assertEqual([["(define-thing *thing*)", "COMMON-LISP-USER"]],
                         self.definitions("(define-thing *thing*)"))

    def test_reader_conditionals_and_block_comments_are_kept(self):
        code = "#+sbcl (defun conditional () #|why|# 1)"
        self.assertEqual([[code, "COMMON-LISP-USER"]], self.definitions(code))

    def test_odd_forms_are_evaluated_as_ever(self):
        self.assertEqual("1", self.value("(progn 1 . #.(list))"))
        self.failure("(progn . 1)")
        self.assertEqual("CIRCLE", self.value("(car '#1=(circle . #1#))"))

    def test_a_package_that_the_form_deletes_is_named_all_the_same(self):
        self.values("(defpackage :doomed (:use :cl))")
        code = "(defun cl-user::doom () (delete-package :doomed)) (delete-package :doomed)"
        self.assertEqual(["DOOMED", "DOOMED"], [p for _, p in self.definitions(code, "doomed")])

    def test_a_reader_macro_that_moves_the_stream_breaks_nothing(self):
        self.values("(defvar *moved* nil) (set-macro-character #\\! (lambda (s c) (declare (ignore c))"
                    " (unless *moved* (setf *moved* t) (file-position s 0)) '(defvar *a* 1)))")
        try:
            self.assertIn("values", self.worker.eval(" !"))
        finally:
            self.values("(setf *readtable* (copy-readtable nil))")


class Systems(Case):
    def setUp(self):
        self.worker.close()
        type(self).worker = self.start()

    def load(self, name):
        return self.worker.call("load-system", system=name)

    def loads(self, name, text):
        done = self.load(name)
        self.assertNotIn("condition", done)
        self.assertEqual(text, done["text"])
        return done

    def load_fails(self, name, kind):
        done = self.load(name)
        self.assertEqual(kind, done["condition"]["type"])
        self.assertNotIn("backtrace", done["condition"])
        return done["condition"]["message"]

    def system(self, name, body, extra=""):
        self.write(name + ".asd", '(defsystem "%s" %s :components ((:file "%s")))' % (name, extra, name))
        return self.write(name + ".lisp", body)

    def test_debians_systems(self):
        done = self.loads("alexandria", 'Loading system: alexandria\n; Loading "alexandria"\n'
                                        "Loaded: alexandria (version 1.0.1)")
        self.assertEqual(["alexandria"], [name for name, _ in done["systems"]])
        self.assertNotIn("warnings", done)
        done = self.loads(":BABEL", 'Loading system: babel\n; Loading "babel"\nLoaded: babel')
        self.assertEqual(["alexandria", "trivial-features", "babel"],
                         [name for name, _ in done["systems"]])
        message = self.load_fails("babel-tests", "ASDF:MISSING-DEPENDENCY")
        self.assertTrue(message.startswith(
            'System "hu.dwim.stefil" not found, required by "babel-tests".\n'))
        self.assertEqual("", self.worker.take_output() + self.worker.take_output("stderr"))
        self.assertEqual("[Loaded Systems]\n- ALEXANDRIA\n- TRIVIAL-FEATURES\n- BABEL",
                         self.worker.call("list-definitions", type="all")["text"])

    def test_an_unknown_system(self):
        message = self.load_fails("nonexistent", "QUICKLISP-CLIENT:SYSTEM-NOT-FOUND")
        first, second = message.split("\n")
        self.assertEqual('System "nonexistent" not found in any known distribution.', first)
        self.assertIn("Quicklisp is not installed", second)
        self.assertIn(self.directory, second)

    def test_a_system_of_the_project(self):
        self.system("own-system", "(defpackage :own-system (:use :cl)) (in-package :own-system)"
                                  " (defun hidden () 1) (princ :loading)", ':version "0.3"')
        self.loads("own-system", 'Loading system: own-system\n; Loading "own-system"\n'
                                 "Loaded: own-system (version 0.3)")
        self.assertEqual("LOADING", self.worker.take_output())
        self.values("(defun own-system::added () 2)")
        self.assertEqual("[Functions]\n- OWN-SYSTEM::ADDED ()",
                         self.worker.call("list-definitions", type="functions")["text"])

    def test_a_system_deeper_in_the_project_and_newer_than_the_registry(self):
        self.load("nonexistent")
        self.write("src/deep/deep.asd", '(defsystem "deep")')
        path = os.path.join(self.directory, "src/deep/deep.asd")
        self.loads("deep", 'Loading system: deep\n; Found %s\n; Loading "deep"\nLoaded: deep' % path)

    def test_compile_errors_say_file_position_and_reason(self):
        for name, body, place, reason in (
                ("bad-form", "(defun ok () 1)\n\n; why\n(defun bad () (let ((x 1 2)) x))\n", ":4:1: ERROR: ",
                 "The LET binding spec (X 1 2) is malformed."),
                ("bad-end", "(defun ok () 1)\n(defun bad ()\n", ":2:1: ERROR: ",
                 "The file ends inside the form that starts here."),
                ("bad-package", "(no-such-package:f)\n", ":1:", "Package NO-SUCH-PACKAGE does not exist."),
                ("bad-call", "(defun ok () 1)\n(defun bad () (car 1 2))\n", ":2:1: WARNING: ",
                 "The function CAR is called with two arguments, but wants exactly one.")):
            path = self.system(name, body)
            for _ in range(2):  # nothing is remembered of a failure
                message = self.load_fails(name, "ASDF:COMPILE-FILE-ERROR")
                self.assertIn(path + place, message)
                self.assertIn(reason, message)
            self.assertEqual("", self.worker.take_output() + self.worker.take_output("stderr"))
        self.system("bad-call", "(defun ok () 1)")
        self.loads("bad-call", 'Loading system: bad-call\n; Loading "bad-call"\nLoaded: bad-call')

    def test_a_broken_definition(self):
        path = self.write("bad-asd.asd", '(defsystem "bad-asd"')
        message = self.load_fails("bad-asd", "ASDF:LOAD-SYSTEM-DEFINITION-ERROR")
        self.assertIn(path, message)
        self.assertIn("The file ends inside the form", message)

    def test_style_is_the_authors_business_but_warnings_are_told(self):
        self.system("stylish", "(defun unused () (let ((x 1)))) (defun calls () (nowhere))")
        self.assertNotIn("warnings", self.load("stylish"))
        self.system("warned", "(defun uses () no-such-variable)")
        self.assertEqual(["WARNING: undefined variable: NO-SUCH-VARIABLE"], self.load("warned")["warnings"])

    def test_evaluated_loads_are_accounted_for(self):
        done = self.worker.eval("(asdf:load-system :alexandria)")
        self.assertEqual("alexandria", done["systems"][0][0])
        self.assertTrue(done["systems"][0][1].endswith("alexandria.asd"))
        self.assertNotIn("systems", self.worker.eval("(asdf:load-system :alexandria)"))
        done = self.worker.eval("(require :sb-rotate-byte)")
        self.assertEqual(["alexandria", "sb-rotate-byte"], [name for name, _ in done["systems"]])
        self.assertEqual("", self.worker.take_output() + self.worker.take_output("stderr"))

    def test_systems_are_restored(self):
        self.system("own-again", "(defun own-again-fn () 1)")
        systems = [["alexandria", None], ["own-again", os.path.join(self.directory, "own-again.asd")],
                   ["sb-rotate-byte", None], ["gone", None]]
        done = self.worker.call("restore-systems", systems=systems)
        self.assertTrue(done["text"].startswith("gone: "))
        self.assertEqual("[Loaded Systems]\n- ALEXANDRIA\n- OWN-AGAIN\n- SB-ROTATE-BYTE",
                         self.worker.call("list-definitions", type=None)["text"])
        self.assertEqual("1", self.value("(own-again-fn)"))

    def test_a_cache_that_cannot_be_written_is_replaced(self):
        self.system("uncached", "(defun uncached () 1)")
        file = self.write("a-file", "")
        self.worker.close()
        type(self).worker = self.start(environment={"XDG_CACHE_HOME": os.path.join(file, "cache"),
                                                    "TMPDIR": self.directory})
        self.loads("uncached", 'Loading system: uncached\n; Loading "uncached"\nLoaded: uncached')

    def test_asdf_does_not_upgrade_itself(self):
        self.write("asdf.asd", '(defsystem "asdf" :version "9.9" :components ((:file "no-such-file")))')
        try:
            self.load("alexandria")
            self.assertNotEqual('"9.9"', self.value("(asdf:asdf-version)"))
        finally:
            os.remove(os.path.join(self.directory, "asdf.asd"))


class Quicklisp(Case):
    """The road through a Quicklisp client. This one is a double of a few lines: it knows one release
    and says what the real client says; it fetches nothing."""

    SETUP = """
(defpackage #:quicklisp-client (:use #:common-lisp) (:nicknames #:ql #:quicklisp)
  (:export #:quickload #:system-not-found #:system-not-found-name))
(in-package #:quicklisp-client)
(define-condition system-not-found (error) ((name :initarg :name :reader system-not-found-name))
  (:report (lambda (c s) (format s "System ~S not found" (system-not-found-name c)))))
(defvar *release* (merge-pathnames "release/" *load-truename*))
(defun quickload (name)
  (let ((name (string-downcase name)))
    (unless (asdf:find-system name nil)
      (let ((file (merge-pathnames (concatenate 'string name ".asd") *release*)))
        (if (probe-file file)
            (asdf:load-asd file)
            (cerror "Try again" 'system-not-found :name name))))
    (format t "To load ~S:~%  Load 1 ASDF system:~%    ~A~%; Loading ~S~%[package ~A].....~%" name name name name)
    (handler-case (asdf:load-system name)
      (asdf:missing-dependency (c)
        (quickload (asdf/find-component:missing-requires c))
        (asdf:load-system name)))
    (list name)))
"""

    def setUp(self):
        home = tempfile.mkdtemp(prefix="cl-mcp-agent-home-")
        self.addCleanup(shutil.rmtree, home)
        self.write(home + "/quicklisp/setup.lisp", self.SETUP)
        self.write(home + "/quicklisp/release/released.asd", '(defsystem "released" :version "1.2")')
        self.write("needs.asd", '(defsystem "needs" :depends-on ("released"))')
        self.write("lacks.asd", '(defsystem "lacks" :depends-on ("no-such-lib"))')
        self.worker.close()
        type(self).worker = self.start(environment={"HOME": home, "CL_MCP_QUICKLISP": None})

    def load(self, name):
        return self.worker.call("load-system", system=name)

    def test_the_client_is_loaded_only_when_needed(self):
        self.load("alexandria")
        self.assertEqual("NIL", self.value('(find-package "QL")'))
        self.load("released")
        self.assertNotEqual("NIL", self.value('(find-package "QL")'))

    def test_a_release_is_loaded_in_the_clients_words(self):
        self.assertEqual('Loading system: released\nTo load "released":\n  Load 1 ASDF system:\n'
                         '    released\n; Loading "released"\nLoaded: released (version 1.2)',
                         self.load("released")["text"])

    def test_a_dependency_may_be_a_release(self):
        self.assertIn("Loaded: needs", self.load("needs")["text"])

    def test_unknown_names_get_the_contracts_words(self):
        condition = self.load("nonexistent")["condition"]
        self.assertEqual("QUICKLISP-CLIENT:SYSTEM-NOT-FOUND", condition["type"])
        self.assertTrue(condition["message"].startswith(
            'System "nonexistent" not found in any known distribution.\nSearched Quicklisp'))
        condition = self.load("lacks")["condition"]
        self.assertIn('System "no-such-lib" not found', condition["message"])
        self.assertIn('"lacks"', condition["message"])

    def test_code_that_only_sounds_like_it_does_not_load_the_client(self):
        self.values('(list "sql:x" :my-ql "quicklisp")')
        self.assertEqual("NIL", self.value('(find-package "QL")'))

    def test_code_may_speak_of_the_client(self):
        done = self.worker.eval("(ql:quickload :released)")
        self.assertEqual(['("released")'], done["values"])
        self.assertEqual(["quicklisp", "released"], sorted(name for name, _ in done["systems"]))

    def test_the_clients_definitions_are_not_the_sessions(self):
        self.load("released")
        self.assertEqual("[Loaded Systems]\n- RELEASED",
                         self.worker.call("list-definitions", type="all")["text"])

    def test_the_client_is_restored(self):
        done = self.worker.call("restore-systems", systems=[["quicklisp", None], ["released", None]])
        self.assertTrue(done["text"].startswith("released: ") or done["text"] == "", done)
        self.assertNotEqual("NIL", self.value('(find-package "QUICKLISP-CLIENT")'))


class Process(Case):
    def setUp(self):
        self.worker.close()
        type(self).worker = self.start()

    def test_it_says_that_it_is_ready(self):
        self.assertEqual(("ready", 1), (self.worker.ready["message"], self.worker.ready["protocol"]))
        self.assertTrue(self.worker.ready["lisp"].startswith("SBCL "))

    def test_it_has_one_thread_also_after_collecting_garbage(self):
        self.values("(sb-ext:finalize (list 1) (lambda ())) (sb-ext:gc :full t)")
        self.assertEqual(1, len(os.listdir("/proc/%d/task" % self.worker.process.pid)))

    def test_finalizers_run_all_the_same(self):
        self.values("(defvar *final* 0) (defun drop (n) (dotimes (i n)"
                    " (sb-ext:finalize (make-array 9) (lambda () (incf *final*))))) (drop 1000)")
        self.values("(sb-ext:gc :full t)")
        self.assertGreater(int(self.value("*final*")), 900)

    def test_a_fork_answers_nobody(self):
        self.values("(require :sb-posix)")
        for child in ("5", '(error "child")'):
            self.assertEqual("T", self.value(
                "(let ((p (sb-posix:fork)))"
                " (cond ((zerop p) %s) (t (sb-posix:waitpid p 0) t)))" % child))
            self.assertEqual("3", self.value("(+ 1 2)"))

    def test_it_leaves_when_the_server_is_gone(self):
        self.worker.socket.close()
        self.assertEqual(0, self.worker.process.wait(30))
        self.setUp()

    def test_exit_ends_the_process_and_is_not_answered(self):
        for code, status in (("(sb-ext:exit)", 0), ("(sb-ext:exit :code 3)", 3), ("(sb-ext:quit)", 0),
                             ("(sb-ext:exit :code 4 :abort t)", 4),
                             ("(unwind-protect (sb-ext:exit :code 5) (princ :bye))", 5)):
            worker = self.start()
            try:
                worker.start("evaluate", code=code, package=None)
                self.assertEqual(status, worker.death())
            finally:
                worker.close()

    def test_sigterm_ends_it(self):
        self.worker.process.terminate()
        self.assertEqual(-15, self.worker.process.wait(30))
        self.setUp()

    def test_errors_in_threads_end_the_thread_with_a_line(self):
        self.values('(ignore-errors (sb-thread:join-thread (sb-thread:make-thread (lambda () (error "lost")))))')
        self.assertEqual("A thread ended with SIMPLE-ERROR: lost\n", self.worker.take_output("stderr"))

    def test_requests_that_are_none_are_answered(self):
        for text in ("(:nonsense :id 3)", "(:evaluate :id 3 :bogus 1)", "gibberish", "(", "", "(:evaluate :id 3)\xff",
                     "(" * 100000):
            self.worker.send_text(text)
            self.assertEqual("PROTOCOL-ERROR", self.worker.finish()["condition"]["type"], text[:40])
        self.worker.send_bytes(b"00000001\xff")
        self.assertEqual("PROTOCOL-ERROR", self.worker.finish()["condition"]["type"])

    def test_requests_with_odd_arguments_are_answered(self):
        for text in ('(:evaluate :id 3 :code nil)', '(:evaluate :id 3 :code "1" :package 7)',
                     '(:evaluate :id 3)', '(:load-system :id 3 :system ("x"))', '(:load-system :id 3 :system "")',
                     '(:restore-systems :id 3 :systems 5)', '(:list-definitions :id 3 :type 5)'):
            self.worker.send_text(text)
            self.assertEqual(3, self.worker.finish()["id"], text)

    def test_a_stream_without_frames_ends_it(self):
        self.worker.send_bytes(b"hello, world, how are you")
        self.assertEqual(70, self.worker.death())
        self.setUp()

    def test_it_is_of_its_own_process_not_of_the_build(self):
        self.assertEqual('#P"%s/"' % self.directory, self.value("(uiop:getcwd)"))
        self.assertIn(self.directory + "/.cache/", self.value("(namestring uiop:*user-cache*)"))
        first = self.value("(random (expt 10 20))")
        self.setUp()
        self.assertNotEqual(first, self.value("(random (expt 10 20))"))

    def test_nothing_of_ours_is_in_the_users_package(self):
        self.assertEqual("NIL", self.value(
            "(let (found) (do-symbols (s :cl-user) (when (and (eq (symbol-package s) *package*)"
            " (not (member s '(found s)))) (push s found))) found)"))
        self.assertEqual("NIL", self.value(
            "(package-used-by-list (find-package :cl-mcp-agent))"))

    def test_the_modules_of_sbcl_are_found(self):
        self.assertEqual('("SB-MD5" "SB-ROTATE-BYTE")',
                         self.value("(sort (require :sb-md5) #'string<)"))

    def test_redefining_everything_in_cl_user_does_not_matter(self):
        self.values("(shadow '(car list eval format)) (defun car (x) x) (defun eval (x) x)"
                    " (defun list () 1) (defun format () 1)")
        self.assertEqual("3", self.value("(+ 1 2)"))
        self.assertEqual("SIMPLE-ERROR", self.failure('(error "x")')["type"])

    def test_operations_are_listed(self):
        self.assertEqual(":evaluate :code :package\n:freeze :heap-limit\n:list-definitions :type\n:load-system :system\n"
                         ":operations\n:restore-systems :systems",
                         self.worker.call("operations")["text"])

    def test_every_parameter_of_a_tool_is_a_key_of_its_operation(self):
        # The server forwards a tool's parameters under their own names, but for those that say how it makes the call.
        of_the_call = {"session", "wait", "timeout", "budget", "keep"}
        keys = {line.split()[0]: set(line.split()[1:])
                for line in self.worker.call("operations")["text"].splitlines()}
        with open(os.path.join(REPO, "docs", "TOOLS.md"), encoding="utf-8") as page:
            tools = page.read().split("\n## ")[1:]
        parameters = {tool.split()[0]: set(re.findall(r"^\| `([^`]+)`", tool, re.MULTILINE)) for tool in tools}
        for name, operation in (("evaluate-lisp", ":evaluate"), ("list-definitions", ":list-definitions"),
                                ("load-system", ":load-system")):
            self.assertEqual({":" + parameter for parameter in parameters[name] - of_the_call}, keys[operation], name)


class Build(unittest.TestCase):
    def test_the_build_refuses_what_is_no_file_and_says_so(self):
        agent = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "agent")
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [os.environ.get("SBCL", "sbcl"), "--noinform", "--non-interactive", "--no-sysinit",
                 "--no-userinit", "--load", os.path.join(agent, "build.lisp")],
                env=dict(os.environ, CL_MCP_WORKER_IMAGE=directory), capture_output=True, timeout=120)
        self.assertEqual((1, b""), (done.returncode, done.stdout))
        self.assertIn(b"is not a file", done.stderr)


if __name__ == "__main__":
    if not os.path.exists(IMAGE):
        raise SystemExit("worker_test.py: there is no worker image at %s" % IMAGE)
    unittest.main()
