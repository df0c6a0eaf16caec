;;;; The ordinary way out.
;; dies: exited with code 0

(sb-ext:exit)
