;;;; Without unwinding.
;; dies: exited with code 1

(sb-ext:exit :abort t)
