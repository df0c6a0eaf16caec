;;;; The lists of functions that SBCL calls by itself hold what is no function, and it exits.
;; dies: exited with code

(setf sb-ext:*init-hooks* (list 42)
      sb-ext:*save-hooks* (list 42)
      sb-ext:*after-gc-hooks* (list 42)
      sb-ext:*exit-hooks* (list* 42 43))
(sb-ext:exit :code 3)
