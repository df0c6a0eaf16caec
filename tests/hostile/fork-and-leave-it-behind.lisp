;;;; The original dies, its forked copy goes on to answer.
;; dies: exited with code 3

(require :sb-posix)
(unless (zerop (eval (read-from-string "(sb-posix:fork)")))
  (sb-ext:exit :code 3 :abort t))
(sleep 0.2)
:the-copy
