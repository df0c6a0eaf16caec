;;;; A finalizer that signals.
;; reply: => NIL

(sb-ext:finalize (list 1) (lambda () (error "in a finalizer")))
(sb-ext:gc :full t)
nil
