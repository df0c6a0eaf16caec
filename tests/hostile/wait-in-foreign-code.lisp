;;;; A C function that sleeps, again and again.
;; then: cancel

(with-open-file (s "running" :direction :output))
(loop (sb-alien:alien-funcall (sb-alien:extern-alien "sleep" (function sb-alien:unsigned sb-alien:unsigned)) 1000))
