;;;; Neither interrupts nor the collector can stop it.
;; then: cancel
;; notice: An evaluation did not stop when it was interrupted, so its Lisp process was ended\. The session is back to its state before that evaluation\.

(sb-sys:without-gcing
  (with-open-file (s "running" :direction :output))
  (loop))
