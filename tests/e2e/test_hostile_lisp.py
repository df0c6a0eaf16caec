"""No form can cost more than its evaluation: whatever Lisp does, the call is answered once and the next one works."""

import json
import unittest

import support

# Each is answered, one way or another, and leaves a server whose next evaluation works.
HOSTILE_FORMS = {
    "closes the control socket": "(progn (sb-unix:unix-close 3) (+ 1 2))",
    "writes nonsense to the control socket":
        '(progn (sb-unix:unix-write 3 (sb-ext:string-to-octets "nonsense nonsense") 0 17) (+ 1 2))',
    "announces a frame of 4 GB": '(progn (sb-unix:unix-write 3 (sb-ext:string-to-octets "ffffffff(:done") 0 14) (+ 1 2))',
    "forges an answer":
        '(let ((s "0000001e(:done :id 1 :values (\\"forged\\"))")) '
        '(sb-unix:unix-write 3 (sb-ext:string-to-octets s) 0 (length s)) (+ 1 2))',
    "closes its standard descriptors": "(dotimes (fd 3) (sb-unix:unix-close fd))",
    "unbinds its streams": "(progn (makunbound '*standard-output*) (makunbound '*error-output*) (print 1))",
    "has a closed stream for output": "(progn (close *standard-output*) (close *error-output*) (print 1))",
    "has no package": "(setf *package* (make-package \"GONE\") *package* (prog1 *package* (delete-package *package*)))",
    "has a dead readtable": "(setf *readtable* (let ((r (copy-readtable nil))) (set-macro-character #\\( (lambda (s c) (error \"no\")) nil r) r))",
    "prints badly for ever": "(progn (defstruct bad) (defmethod print-object ((b bad) s) (print b s)) (make-bad))",
    "nests errors in reports":
        "(progn (define-condition c (error) () (:report (lambda (c s) (error c)))) (error 'c))",
    "breaks on every signal": "(progn (setf *break-on-signals* t) (error \"no\"))",
    "has a debugger hook that errors": "(progn (setf *debugger-hook* (lambda (c h) (error \"again\"))) (error \"no\"))",
    "has a debugger hook that exits":
        "(progn (setf sb-ext:*invoke-debugger-hook* (lambda (c h) (sb-ext:exit :code 5 :abort t))) (error \"no\"))",
    "disables the debugger": "(progn (sb-ext:disable-debugger) (error \"no\"))",
    "exits from a thread": "(sb-thread:join-thread (sb-thread:make-thread (lambda () (sb-ext:exit :abort t))) :default nil)",
    "ends the main thread": "(progn (sb-thread:terminate-thread sb-thread:*current-thread*) (sleep 0.2))",
    "dies in a thread": "(progn (sb-thread:make-thread (lambda () (error \"in a thread\"))) (sleep 0.1) 1)",
    "invokes restarts blindly": "(invoke-restart (first (compute-restarts)))",
    "aborts": "(abort)",
    "throws to the top": "(throw 'sb-impl::toplevel-catcher nil)",
    "unwinds with %unwind": "(sb-impl::%unwind-protect (error \"no\"))",
    "saves the image": '(sb-ext:save-lisp-and-die "image")',
    "deinitialises": "(sb-impl::deinit)",
    "exits with a hook that fails": "(progn (push (lambda () (error \"no\")) sb-ext:*exit-hooks*) (sb-ext:exit))",
    "exits with a hook that loops": "(progn (push (lambda () (loop)) sb-ext:*exit-hooks*) (sb-ext:exit :abort t))",
    "exhausts the heap bit by bit": "(let ((all nil)) (loop (push (make-array 1000000 :initial-element 0) all)))",
    "exhausts the heap with strings": "(let ((s \"x\")) (loop (setf s (concatenate 'string s s))))",
    "exhausts the binding stack": "(progn (defvar *deep* 0) (labels ((f () (let ((*deep* 1)) (1+ (f))))) (f)))",
    "overflows the printer": "(let ((x 1)) (dotimes (i 300000) (setf x (vector x))) (let ((*print-level* nil)) (prin1-to-string x)))",
    "reads deeply": '(read-from-string (make-string 100000 :initial-element #\\())',
    "corrupts memory": "(setf (sb-sys:sap-ref-64 (sb-sys:int-sap 8) 0) 1)",
    "aborts in C": '(sb-alien:alien-funcall (sb-alien:extern-alien "abort" (function sb-alien:void)))',
    "loses": '(sb-alien:alien-funcall (sb-alien:extern-alien "lose" (function sb-alien:void sb-alien:c-string)) "on purpose")',
    "redefines a function everybody uses":
        "(progn (sb-ext:unlock-package :cl) (handler-bind ((warning #'muffle-warning)) (setf (fdefinition 'cl:format) (lambda (&rest r) r))) 1)",
    "uninterns what we need": "(progn (sb-ext:unlock-package :cl) (unintern 'cl:car :cl) 1)",
    "deletes cl-user": "(delete-package :cl-user)",
    "changes the directory": '(progn (setf *default-pathname-defaults* #p"/nonexistent/") 1)',
    "answers with a million values": "(values-list (make-list 100000))",
    "answers with long symbols": "(intern (make-string 1000000 :initial-element #\\x))",
}

# Calls that wait; cancelled, they stop at once and the state stays.
WAITING_FORMS = {
    "sleeps": "(progn RUNNING (sleep 1000))",
    "computes": "(progn RUNNING (loop))",
    "conses": "(progn RUNNING (loop (make-list 1000)))",
    "waits for a child": '(progn RUNNING (sb-ext:run-program "sleep" \'("1000") :search t))',
    "waits for a thread": "(progn RUNNING (sb-thread:join-thread (sb-thread:make-thread (lambda () (sleep 1000)))))",
    "waits for a lock":
        "(let ((m (sb-thread:make-mutex))) (sb-thread:make-thread (lambda () (sb-thread:grab-mutex m) (sleep 1000))) "
        "(loop until (sb-thread:mutex-owner m)) RUNNING (sb-thread:grab-mutex m))",
    "prints for ever": '(progn RUNNING (loop (write-line "flood")))',
    "handles everything": "(progn RUNNING (loop (handler-case (loop) (condition () nil))))",
    "binds every condition": "(handler-bind ((condition (lambda (c) (declare (ignore c)) nil))) RUNNING (loop))",
    "compiles": "(progn RUNNING (loop (compile nil '(lambda (x) (list x x x)))))",
}


class HostileLisp(support.TestCase):
    def test_whatever_a_form_does_it_is_answered_and_the_next_works(self):
        server = self.start()
        for name, form in HOSTILE_FORMS.items():
            with self.subTest(name):
                reply = server.wait_for(server.send_evaluation(form))
                self.assertIn("result", reply, form)
                self.assertLess(len(json.dumps(reply)), 5_000_000)
                server.call("list-definitions")
                server.evaluate("1")
                text, is_error = server.call("reset-session")
                self.assertFalse(is_error, text)
                self.assertEqual(server.evaluate('(progn (format t "heard") (+ 1 2))'), ("[stdout]\nheard\n\n=> 3", False))
        self.assertEqual(server.close(), 0)

    def test_whatever_a_form_waits_for_it_can_be_cancelled(self):
        server = self.start()
        for name, form in WAITING_FORMS.items():
            with self.subTest(name):
                server.evaluate("(defvar *kept* 'kept)")
                request_id = server.start_endless_evaluation(form)
                server.notify("notifications/cancelled", {"requestId": request_id})
                self.assertEqual(server.call("evaluate-lisp", code="*kept*", seconds=4), ("=> KEPT", False))
        self.assertEqual(server.close(), 0)
        self.assertEqual(server.rest(), [], "a cancelled request is not answered")

    def test_a_stopped_process_is_killed_after_a_grace(self):
        server = self.start()
        server.evaluate("(defvar *kept* 'kept)")
        request_id = server.start_endless_evaluation('(progn RUNNING (sb-ext:run-program "/bin/sh" \'("-c" "kill -STOP $PPID")) (loop))')
        worker = server.workers()[0]
        support.wait_until(lambda: support.state(worker) == "T", "Lisp has stopped")
        self.assertEqual(server.request("ping")["result"], {})
        server.notify("notifications/cancelled", {"requestId": request_id})
        text, is_error = server.evaluate("*kept*")
        self.assertFalse(is_error)
        self.assertTrue(text.startswith("[notice]\n") and text.endswith("\n\n=> KEPT"), text)
        self.assertEqual(server.close(), 0)

    def test_an_ignored_interrupt_leads_to_a_kill(self):
        server = self.start()
        server.evaluate("(defvar *kept* 'kept)")
        request_id = server.start_endless_evaluation("(progn (sb-sys:enable-interrupt sb-unix:sigint :ignore) RUNNING (loop))")
        server.notify("notifications/cancelled", {"requestId": request_id})
        text, _ = server.evaluate("*kept*")
        self.assertTrue(text.startswith("[notice]\n") and text.endswith("\n\n=> KEPT"), text)
        self.assertEqual(server.close(), 0)

    def test_a_child_that_floods_between_calls_does_not_fill_memory(self):
        server = self.start()
        server.evaluate("1")
        before = support.resident_megabytes(server.pid)
        server.evaluate('(progn (defvar *child* (sb-ext:run-program "yes" () :search t :wait nil :output t)) nil)')
        for _ in range(20):
            self.assertEqual(server.request("ping")["result"], {})
            text, is_error = server.evaluate("(progn (sleep 0.02) (+ 1 2))")
            self.assertFalse(is_error)
            self.assertLess(len(text), 2_000_000)
            self.assertTrue(text.endswith("=> 3"))
        if not support.IS_SANITIZED:
            self.assertLess(support.resident_megabytes(server.pid) - before, 50)
        self.assertEqual(server.close(), 0)

    def test_a_flood_of_warnings_is_answered_soon(self):
        server = self.start()
        text, is_error = server.call("evaluate-lisp", code='(dotimes (i 100000) (warn "number ~d" i))', seconds=20)
        self.assertFalse(is_error)
        self.assertIn("WARNING: number 0\n", text)
        self.assertLess(len(text), 100_000)

    def test_a_file_of_the_users_may_be_loaded(self):
        server = self.start()
        server.home.write("code.lisp", '(defun from-file () "loaded")\n(format t "loading~%")\n')
        text, is_error = server.evaluate('(load "code.lisp")')
        self.assertEqual((text, is_error), ("[stdout]\nloading\n\n=> T", False))
        self.assertEqual(server.evaluate("(from-file)"), ('=> "loaded"', False))
        text, is_error = server.evaluate('(load (compile-file "code.lisp"))')
        self.assertFalse(is_error)
        self.assertTrue(text.endswith("=> T"), text)


if __name__ == "__main__":
    unittest.main()
