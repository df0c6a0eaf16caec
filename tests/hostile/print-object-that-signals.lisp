;;;; A value whose printing signals.
;; reply: ^=> #<BAD \{error printing: SIMPLE-ERROR No\.\}>$

(defstruct bad)
(defmethod print-object ((object bad) stream) (error "No."))
(make-bad)
