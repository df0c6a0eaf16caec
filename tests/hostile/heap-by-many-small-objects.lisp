;;;; Conses until none is left.
;; reply: (?i)\[ERROR\] .*(exhausted|storage|HEAP|LISP-PROCESS-ENDED)
;; seconds: 60

(let ((all '())) (loop (push (list 1 2 3) all)))
