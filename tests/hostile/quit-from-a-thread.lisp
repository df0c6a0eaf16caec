;;;; A thread asks the main thread to unwind and exit.
;; dies: exited with code 8

(sb-thread:make-thread (lambda () (sb-ext:exit :code 8)))
(sleep 1000)
