;;;; The interrupt unwinds into a cleanup form, which loops.
;; then: cancel
;; notice: An evaluation did not stop when it was interrupted, so its Lisp process was ended\. The session is back to its state before that evaluation\.

(unwind-protect (progn (with-open-file (s "running" :direction :output)) (loop))
  (loop))
