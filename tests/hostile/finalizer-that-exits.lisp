;;;; A finalizer that ends the process.
;; reply: ^\[ERROR\] LISP-PROCESS-ENDED\n.* The session is back to its state before this call\.

(defun make () (sb-ext:finalize (make-array 10) (lambda () (sb-ext:exit :code 6 :abort t))) nil)
(make)
(dotimes (i 3) (sb-ext:gc :full t))
nil
