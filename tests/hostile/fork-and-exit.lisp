;;;; A forked copy exits; the original does not.
;; reply: => :PARENT

(require :sb-posix)
(if (zerop (eval (read-from-string "(sb-posix:fork)")))
    (sb-ext:exit :code 3)
    :parent)
