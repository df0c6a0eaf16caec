;;;; A thread that keeps the lock of the world for ever.
;; reply: => :STARTED

(defvar *thread*
  (sb-thread:make-thread (lambda () (sb-sys:without-interrupts (loop)))))
:started
