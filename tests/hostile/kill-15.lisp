;;;; SIGTERM to itself.
;; dies: killed by signal 15

(sb-alien:alien-funcall (sb-alien:extern-alien "raise" (function sb-alien:int sb-alien:int)) 15)
(sleep 1000)
