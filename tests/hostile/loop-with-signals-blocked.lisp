;;;; All signals are blocked in C, so no interrupt arrives.
;; then: cancel
;; notice: An evaluation did not stop when it was interrupted, so its Lisp process was ended\. The session is back to its state before that evaluation\.

(sb-alien:with-alien ((all (array sb-alien:unsigned-long 16)))
  (dotimes (i 16) (setf (sb-alien:deref all i) (ldb (byte 64 0) -1)))
  (sb-alien:alien-funcall
   (sb-alien:extern-alien "sigprocmask" (function sb-alien:int sb-alien:int (* t) (* t)))
   0 (sb-alien:addr all) nil))
(with-open-file (s "running" :direction :output))
(loop)
