;;;; escape.lisp — how an operation ends early.
;;;;
;;;; SBCL's debugger is replaced by HANDLE-UNHANDLED, so whatever would have entered the debugger
;;;; (ERROR, BREAK, INVOKE-DEBUGGER, a failed assertion) arrives there with its stack still whole,
;;;; and what user code handles itself never does. That is why nothing here binds a handler for
;;;; SERIOUS-CONDITION: (SIGNAL 'SOME-ERROR) must go on as at any REPL.

(in-package #:cl-mcp-agent)

(defstruct failure
  "Why an operation ended early. FRAMES are strings, or functions that make them once the
stack is unwound."
  (type "" :type string)
  (message "" :type string)
  (frames '() :type list)
  (condition nil))

(defvar *escape* nil
  "Function of a failure that unwinds to the innermost CALL-WITH-ESCAPE.")

(defun call-with-escape (function)
  "The values of FUNCTION as a list; or NIL and the failure that ended it. Comes back whatever the
user's code does, unless the process ends."
  (block nil
    (values nil
            (block escape
              (let ((*escape* (lambda (failure) (return-from escape failure))))
                (restart-case (return (values (multiple-value-list (funcall function)) nil))
                  (abort ()
                    :report "End this evaluation."
                    (make-failure :type "ABORTED"
                                  :message "The code invoked the ABORT restart."))))))))

(defun fail (type control &rest arguments)
  "End what runs with a failure of TYPE and the message that CONTROL and ARGUMENTS make."
  (funcall *escape*
           (make-failure :type type
                         :message (call-with-plain-printer
                                   (lambda () (apply #'format nil control arguments))))))

(defvar *stopped* nil
  "The failure with which the running operation is being stopped, or NIL. Code that is interrupted
anywhere, the compiler's and the debugger's too, may fail on the way out: that is not why it ended.")

(defun handle-unhandled (condition)
  "Stand in for the debugger."
  (cond ((and *escape* (main-thread-p))
         (funcall *escape* (or *stopped* (describe-failure condition))))
        ((main-thread-p)
         ;; An error of the agent's own: the server reports the death and starts another worker.
         (say-why "The agent" condition)
         (leave 70))
        (t
         ;; A thread of the user's has nobody to answer to.
         (say-why "A thread" condition)
         (end-thread))))

(defun say-why (who condition)
  "One line on standard error."
  (ignore-errors
   (let ((type (type-text condition))
         (message (if (typep condition 'storage-condition)
                      (storage-text condition)
                      (one-line (report-text condition)))))
     (call-with-plain-printer
      (lambda () (format (stderr) "~&~A ended with ~A: ~A~%" who type message))))
   (finish-output (stderr))))
