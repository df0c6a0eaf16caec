;;;; A forked copy returns from the evaluation like the original.
;; reply: => 

(require :sb-posix)
(eval (read-from-string "(sb-posix:fork)"))
