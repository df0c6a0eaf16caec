;;;; Recursion that binds a special variable: another stack is exhausted.
;; reply: (?i)(\[ERROR\] .*(exhausted|storage)|LISP-PROCESS-ENDED)

(defvar *deep* 0)
(defun down () (let ((*deep* 1)) (1+ (down))))
(down)
