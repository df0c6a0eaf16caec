;;;; A method for all that can be printed.
;; reply: ^=> #<CONS \{error printing: SIMPLE-ERROR No\.\}>$

(handler-bind ((warning #'muffle-warning))
  (defmethod print-object ((object t) stream) (error "No."))
  (defmethod print-object ((object symbol) stream) (error "No."))
  (defmethod print-object ((object string) stream) (error "No.")))
(list 'a "b" 1)
