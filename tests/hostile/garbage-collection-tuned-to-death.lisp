;;;; The collector runs after every few bytes and keeps all it finds.
;; reply: => 

(setf (sb-ext:bytes-consed-between-gcs) 4096)
(dotimes (generation 6)
  (setf (sb-ext:generation-number-of-gcs-before-promotion generation) 1000))
(length (loop repeat 1000 collect (make-array 100)))
