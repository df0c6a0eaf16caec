;;;; A value that prints itself inside itself.
;; reply: ^=> 

(defstruct bad)
(defmethod print-object ((object bad) stream) (print object stream))
(make-bad)
