;;;; A forked copy that loops for ever.
;; reply: => :PARENT

(require :sb-posix)
(if (zerop (eval (read-from-string "(sb-posix:fork)")))
    (loop (sleep 1))
    :parent)
