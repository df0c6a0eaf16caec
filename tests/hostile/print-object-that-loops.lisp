;;;; A value whose printing never ends.
;; then: cancel

(defstruct bad)
(defmethod print-object ((object bad) stream) (with-open-file (s "running" :direction :output)) (loop))
(make-bad)
