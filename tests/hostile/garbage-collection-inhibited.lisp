;;;; The collector is switched off for good.
;; reply: ^=> 1000$

(setf sb-kernel::*gc-inhibit* t)
(length (loop repeat 1000 collect (make-array 100)))
