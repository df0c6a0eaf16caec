;;;; A thread ends the process.
;; dies: exited with code 7

(sb-thread:make-thread (lambda () (sb-ext:exit :code 7 :abort t)))
(sleep 1000)
