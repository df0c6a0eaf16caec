;;;; _exit(2), of which Lisp hears nothing.
;; dies: exited with code 9

(sb-alien:alien-funcall (sb-alien:extern-alien "_exit" (function sb-alien:void sb-alien:int)) 9)
