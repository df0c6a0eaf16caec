;;;; A function that SBCL calls when it has lost its way.
;; dies: (killed by signal 6|exited with code)

(sb-alien:alien-funcall
 (sb-alien:extern-alien "lose" (function sb-alien:void sb-alien:c-string)) "on purpose")
