;;;; The package is no package.
;; reply: ^\[ERROR\] TYPE-ERROR$

(setf (symbol-value '*package*) 42)
