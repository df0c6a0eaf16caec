;;;; Recursion without end.
;; reply: (?i)\[ERROR\] .*(exhausted|storage)

(defun down (n) (1+ (down (1+ n))))
(down 0)
