;;;; abort(3).
;; dies: (killed by signal 6|exited with code 1)

(sb-alien:alien-funcall (sb-alien:extern-alien "abort" (function sb-alien:void)))
