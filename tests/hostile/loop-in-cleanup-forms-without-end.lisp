;;;; Each cleanup form that is unwound enters another.
;; then: cancel
;; notice: An evaluation did not stop when it was interrupted, so its Lisp process was ended\. The session is back to its state before that evaluation\.

(defun again ()
  (unwind-protect (progn (with-open-file (s "running" :direction :output :if-exists :supersede)) (loop))
    (again)))
(again)
