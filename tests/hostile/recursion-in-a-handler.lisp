;;;; A handler for the exhausted stack that recurses again.
;; reply: (?i)(\[ERROR\] .*(exhausted|storage)|LISP-PROCESS-ENDED)

(defun down (n)
  (handler-bind ((storage-condition (lambda (c) (declare (ignore c)) (down n))))
    (1+ (down (1+ n)))))
(down 0)
