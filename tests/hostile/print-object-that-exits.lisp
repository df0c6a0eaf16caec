;;;; A value whose printing ends the process.
;; dies: exited with code 6

(defstruct bad)
(defmethod print-object ((object bad) stream) (sb-ext:exit :code 6 :abort t))
(make-bad)
