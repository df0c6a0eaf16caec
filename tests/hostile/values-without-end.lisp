;;;; A hundred thousand values.
;; reply: => NIL

(values-list (make-list 100000))
