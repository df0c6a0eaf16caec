;;;; A thread that stays: no checkpoint can be made, and nothing is lost.
;; reply: => :STARTED

(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000))))
:started
