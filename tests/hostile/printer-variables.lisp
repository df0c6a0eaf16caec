;;;; Every printer variable is set to something odd. They are the session's own, as at any REPL.
;; reply: ^=> #?
;; value: #b101001
;; next: ^=> #b11$

(setf *print-base* 2 *print-radix* t *print-case* :downcase *print-length* 0 *print-level* 0 *print-escape* nil
      *print-readably* t *print-right-margin* 1 *print-pretty* t *print-circle* t *print-array* nil
      *read-eval* nil *read-default-float-format* 'double-float *read-suppress* nil)
(list 1 2 3)
