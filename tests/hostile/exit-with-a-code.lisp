;;;; With a code of its own.
;; dies: exited with code 42

(defvar *half-done* t)
(sb-ext:exit :code 42)
