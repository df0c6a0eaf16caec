;;;; A thread joins another that waits for it.
;; then: cancel

(let ((me sb-thread:*current-thread*))
  (defvar *other* (sb-thread:make-thread (lambda () (sb-thread:join-thread me :default nil))))
  (with-open-file (s "running" :direction :output))
  (sb-thread:join-thread *other*))
