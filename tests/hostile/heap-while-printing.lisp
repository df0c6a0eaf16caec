;;;; A print-object method that fills the heap.
;; reply: (?i)(exhausted|LISP-PROCESS-ENDED)
;; seconds: 60

(defstruct glutton)
(defvar *all* '())
(defmethod print-object ((object glutton) stream)
  (loop (push (make-array 100000) *all*)))
(make-glutton)
