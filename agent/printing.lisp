;;;; printing.lisp — objects to text.
;;;;
;;;; Printing runs user code (PRINT-OBJECT, report functions, pprint functions) that may signal,
;;;; loop, recurse for ever or write without end. So all of it goes through SAFE-TEXT: bounded in
;;;; characters and, inside CALL-WITH-TIME-LIMIT, in time, and with a text to fall back on.
;;;;
;;;; Values are printed under the contract's variables (docs: evaluate-lisp) and the user's own
;;;; setting of every other printer variable, *PRINT-BASE* and *PRINT-CASE* say, as a REPL does.
;;;; What we say ourselves (messages, frames, warnings) is printed as plain.lisp has it.

(in-package #:cl-mcp-agent)

;;; For all values of one evaluation together: a longer reply helps nobody.
(defconstant +values-limit+ (* 1024 1024))
(defconstant +message-limit+ (* 16 1024))
(defconstant +short-limit+ 80)

(defvar *values-seconds* 10
  "For printing all values of one evaluation together, or a message.")

(defvar *listing-seconds* 1
  "For printing all values of one listing together, or a backtrace.")

(defun bounded-text (limit writer)
  "What WRITER writes to its stream, cut with a mark after LIMIT characters."
  (let ((text (make-string-output-stream))
        (room limit))
    (block nil
      (funcall writer
               (make-instance 'sink
                              :writer (lambda (string start end)
                                        (let ((stop (min end (+ start room))))
                                          (write-string string text :start start :end stop)
                                          (decf room (- stop start))
                                          (when (< stop end)
                                            (format text " ...[cut after ~D characters]" limit)
                                            (return)))))))
    (get-output-stream-string text)))

;;; Time

(defstruct clock
  "Whether the time of one CALL-WITH-TIME-LIMIT is up."
  (up nil))

(defvar *clock* nil)

(defvar *print-exit* nil
  "Function of a failure that unwinds to the innermost SAFE-TEXT, while one is printing.")

(defun took-too-long ()
  (make-failure :type "TIMEOUT" :message "printing took too long"))

(defun took-too-long-p (failure)
  (equalp failure (took-too-long)))

(defun time-is-up (clock)
  "Called by a timer, which may be late and find us elsewhere."
  (when (eq *clock* clock)
    (setf (clock-up clock) t)
    (when *print-exit*
      (funcall *print-exit* (took-too-long)))))

(defun call-with-time-limit (seconds function)
  "Call FUNCTION; after SECONDS the SAFE-TEXT at work falls back, and so do all after it. As with an
interrupt, no condition is signalled that the code could handle. An outer limit goes on to hold."
  (if *clock*
      (funcall function)
      (let* ((clock (make-clock))
             (*clock* clock))
        (call-with-timer seconds (lambda () (time-is-up clock)) function))))

(defun safe-text (limit writer fallback)
  "As BOUNDED-TEXT; when WRITER fails or its time is up, what FALLBACK makes of the failure."
  (multiple-value-bind (texts failure)
      (if (and *clock* (clock-up *clock*))
          (values nil (took-too-long))
          (call-with-escape (lambda ()
                              (let ((*print-exit* *escape*))
                                (bounded-text limit writer)))))
    (if failure (funcall fallback failure) (first texts))))

;;; Values

(defun value-text (value limit)
  "VALUE as the contract prints it. A value whose printing fails is still a value: it is shown as
#<CLASS {error printing: TYPE message}>."
  (let ((*print-length* 100)
        (*print-level* 10)
        (*print-circle* t)
        (*print-pretty* t)
        (*print-readably* nil))
    (safe-text limit
               (lambda (stream) (prin1 value stream))
               (lambda (failure) (unprintable-text value failure)))))

(defun unprintable-text (value failure)
  (with-plain-printer
    (format nil "#<~A {~:[error printing: ~A ~;~*~]~A}>" (class-text value)
            (took-too-long-p failure) (failure-type failure) (failure-message failure))))

(defun value-texts (values)
  "The texts of VALUES, bounded together."
  (call-with-time-limit *values-seconds* (lambda () (bounded-value-texts values))))

(defun bounded-value-texts (values)
  (let ((room +values-limit+))
    (loop for value in values
          for count from 0
          when (or (= count 100) (<= room 0))
            collect (with-plain-printer
                      (format nil "...[~D more values]" (- (length values) count)))
            and do (loop-finish)
          collect (let ((text (value-text value room)))
                    (decf room (length text))
                    text))))

(defun short-text (object &key (limit +short-limit+) (lines #'first-line))
  "OBJECT in few characters, of which the function LINES makes one line."
  (with-plain-printer
    (let ((*print-pretty* t)            ; for 'X instead of (QUOTE X)
          (*print-length* 8)
          (*print-level* 4)
          (*clock* (and (not (typep object '(or symbol number string character))) ; harmless
                        *clock*)))
      (funcall lines
               (safe-text limit
                          (lambda (stream) (prin1 object stream))
                          (lambda (failure)
                            (if (took-too-long-p failure)
                                (unprintable-text object failure)
                                (format nil "#<unprintable ~A>" (class-text object)))))))))
