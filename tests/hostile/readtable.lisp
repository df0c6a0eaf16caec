;;;; A readtable in which a parenthesis is an error; symbols are still read. It is the
;;;; session's own readtable, so it stays until a reset or until code without a parenthesis sets another.
;; reply: => NIL
;; next: ^\[ERROR\] SIMPLE-ERROR\nNo\.

(setf *readtable* (copy-readtable nil))
(set-macro-character #\( (lambda (stream character)
                          (declare (ignore stream character)) (error "No.")))
nil
