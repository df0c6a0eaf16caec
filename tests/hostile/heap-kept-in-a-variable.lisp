;;;; What fills the heap is kept.
;; reply: (?i)\[ERROR\] .*(exhausted|storage|HEAP|LISP-PROCESS-ENDED)
;; seconds: 60

(defvar *all* '())
(loop (push (make-array 100000) *all*))
