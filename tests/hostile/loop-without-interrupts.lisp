;;;; Lisp does not let the interrupt in.
;; then: cancel
;; notice: An evaluation did not stop when it was interrupted, so its Lisp process was ended\. The session is back to its state before that evaluation\.

(sb-sys:without-interrupts
  (with-open-file (s "running" :direction :output))
  (loop))
