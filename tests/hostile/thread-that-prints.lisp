;;;; A thread that prints without end beyond the call.
;; reply: => :STARTED

(defvar *thread*
  (sb-thread:make-thread (lambda () (loop (write-line "still here") (sleep 0.01)))))
:started
