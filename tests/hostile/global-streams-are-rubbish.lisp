;;;; SBCL's own streams are set to what is no stream.
;; reply: ^\[ERROR\] TYPE-ERROR$

(setf sb-sys:*stdout* 42 sb-sys:*stderr* 42 sb-sys:*stdin* 42 sb-sys:*tty* 42)
(print 1)
