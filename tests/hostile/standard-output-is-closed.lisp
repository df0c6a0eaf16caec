;;;; The streams are closed.
;; reply: ^\[ERROR\] STREAM-ERROR$

(close *standard-output*)
(close sb-sys:*stdout*)
(close sb-sys:*stderr*)
(print 1)
