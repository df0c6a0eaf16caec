;;;; The readtable is no readtable.
;; reply: ^\[ERROR\] TYPE-ERROR$

(setf (symbol-value '*readtable*) 42)
