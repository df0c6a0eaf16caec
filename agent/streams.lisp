;;;; streams.lisp — the standard streams of user code.
;;;;
;;;; Descriptors 1 and 2 are the user's; the protocol never touches them. Hazards:
;;;; * Threads see the global values of the stream variables, so those are set, not only bound.
;;;; * User code closes, reassigns and binds these variables. Each evaluation therefore gets synonym
;;;;   streams of its own: closing one closes neither the descriptor nor the next evaluation's.
;;;; * Nobody can answer a question: interactive input is at its end, interactive output vanishes.

(in-package #:cl-mcp-agent)

(defvar *nobody* (make-concatenated-stream)
  "Input that is at its end.")

(defvar *conversation* (make-two-way-stream *nobody* (make-broadcast-stream))
  "What interactive streams lead to.")

(defun conversation-p (object)
  "True when OBJECT is a stream and reading it means asking somebody."
  (if (typep object 'synonym-stream)
      (let ((symbol (synonym-stream-symbol object)))
        (and (boundp symbol) (conversation-p (symbol-value symbol))))
      (member object (list *nobody* *conversation*))))

(defun standard-streams ()
  "Fresh values for the standard stream variables."
  (flet ((to (symbol) (make-synonym-stream symbol)))
    (list '*standard-output* (to (stdout-variable))
          '*error-output* (to (stderr-variable))
          '*trace-output* (to (stderr-variable))
          '*standard-input* (to '*nobody*)
          '*query-io* (to '*conversation*)
          '*debug-io* (to '*conversation*)
          '*terminal-io* (to '*conversation*))))

(defun call-with-standard-streams (function)
  (let ((streams (standard-streams)))
    (progv (loop for (symbol) on streams by #'cddr collect symbol)
        (loop for (nil stream) on streams by #'cddr collect stream)
      (funcall function))))

(defvar *spares* '()
  "(fd copy) of descriptors 1 and 2, for when user code closes the real one.")

(defun install-streams ()
  "Open descriptors 1 and 2 and set every stream variable, for all threads."
  (setf *spares* (loop for fd in '(1 2) collect (list fd (spare-descriptor fd))))
  (set-global (stdout-variable) (make-output-stream 1))
  (set-global (stderr-variable) (make-output-stream 2))
  (setf *nobody* (make-concatenated-stream)
        *conversation* (make-two-way-stream *nobody* (make-broadcast-stream)))
  (loop for (symbol stream) on (standard-streams) by #'cddr
        do (set-global symbol stream)))

(defun let-go-of-output ()
  "Point descriptors 0, 1 and 2 at the null device and forget the copies."
  (let ((null (open-null-device)))
    (loop for fd in '(0 1 2)
          do (copy-descriptor null fd))
    (close-descriptor null))
  (loop for (nil spare) in (shiftf *spares* '())
        do (close-descriptor spare)))

(defun finish-streams ()
  "Hand all output to the descriptors; mend what user code closed."
  (loop for (fd spare) in *spares*
        for variable in (list (stdout-variable) (stderr-variable))
        for stream = (symbol-value variable)
        do (unless (and (streamp stream)
                        (open-stream-p stream)
                        (ignore-errors (finish-output stream) t))
             (copy-descriptor spare fd)
             (set-global variable (make-output-stream fd)))))
