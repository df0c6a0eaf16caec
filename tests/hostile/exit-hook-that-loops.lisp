;;;; It exits, and an exit hook does not let it.
;; then: cancel
;; notice: An evaluation did not stop when it was interrupted, so its Lisp process was ended\. The session is back to its state before that evaluation\.

(push (lambda () (with-open-file (s "running" :direction :output)) (loop)) sb-ext:*exit-hooks*)
(sb-ext:exit)
