;;;; interrupts.lisp — SIGINT stops the operation that is running, and nothing else.
;;;;
;;;; The handler unwinds straight to the operation's top instead of signalling a condition, so no
;;;; HANDLER-CASE of the user's can swallow it; cleanup forms run. It does so only while *RUNNING*
;;;; is true, which is never the case while a request is read or an answer written: so those frames
;;;; are always whole, and no critical section is needed around them. The one frame that is written
;;;; while *RUNNING* is true is the handler's own, before it unwinds: the server must know where the
;;;; code was even when a cleanup form never ends.
;;;;
;;;; The race: signal and request travel apart. A signal can arrive before the request it is meant
;;;; for was read, or after it was answered and when the next one is already there. A signal sent
;;;; with sigqueue(3) carries the request's id (its low 31 bits), and hits that request or none: it is
;;;; kept until a request starts, which may be one that was read a moment ago. A plain one is kept
;;;; when a request waits in the socket, and dropped when there is none.

(in-package #:cl-mcp-agent)

(defvar *running* nil
  "Id of the operation that may be interrupted now, or NIL.")

(defvar *interrupt-pending* nil
  "Id of a request to interrupt as it starts; T for the next one, whichever it is.")

(defvar *stopping* nil
  "True from an interrupt to the unwinding: not in the cleanup forms, which may have to be stopped.")

(defvar *operation-exit* nil
  "Function of a failure that unwinds to the top of the operation.")

(defun signal-id (id)
  "What a signal for the request ID carries."
  (ldb (byte 31 0) id))

(defun on-interrupt (target)
  "Called in the main thread for each SIGINT; TARGET is what the signal carries, or NIL."
  (cond ((and *running* (member target (list nil (signal-id *running*))))
         (unless *stopping*
           (stop-operation)))
        ((or target (readable-p +control-fd+))
         (setf *interrupt-pending* (or target t)))))

(defun stop-operation ()
  "Say where the code is, and unwind. Interrupts are off here but for the printing, whose time is
limited by one, and for the unwinding: so none can tear the frame. Those that come before the
unwinding has begun have nothing to add, and SBCL dies of too many handlers within each other."
  (let ((*stopping* t))
    (setf *stopped* (make-interrupted))
    (setf (failure-frames *stopped*) (with-interrupts-allowed (present-frames)))
    (announce *stopped*)
    (with-interrupts-allowed
      (funcall *operation-exit* *stopped*))))

(defun make-interrupted ()
  (make-failure :type "INTERRUPTED" :message "Evaluation interrupted."))

(defun present-frames ()
  "Where the code is, as far as it can be told in time."
  (let ((*describing* t)
        (*clock* nil))                  ; its time may be long
    (handler-case (call-with-time-limit *listing-seconds* (lambda () (backtrace nil)))
      (error () '()))))

(defun announce (failure)
  "Tell the server, before anything is unwound, that FAILURE ends the running operation."
  (send (frame (list :interrupting :id *running* :backtrace (failure-frames failure)))))

(defun interrupted-already-p (id)
  (member (shiftf *interrupt-pending* nil) (list t (signal-id id))))

(defun call-interruptibly (id function)
  "As CALL-WITH-ESCAPE, for the whole operation that answers the request ID."
  (call-with-escape
   (lambda ()
     (let ((*operation-exit* *escape*)
           (*stopped* nil))
       (unwind-protect
            (progn
              (setf *running* id)
              (when (interrupted-already-p id)
                (funcall *operation-exit* (make-interrupted)))
              (funcall function))
         (setf *running* nil))))))
