;;;; As many threads as there can be.
;; reply: ^(=> 1000$|\[ERROR\] )

(defvar *threads* (loop repeat 1000 collect (sb-thread:make-thread (lambda () (sleep 1000)))))
(length *threads*)
