;;;; Random bytes on both descriptors.
;; reply: => 

(let ((bytes (make-array 65536 :element-type '(unsigned-byte 8))))
  (map-into bytes (lambda () (random 256)))
  (dolist (fd '(1 2 1 2)) (sb-unix:unix-write fd bytes 0 65536)))
1
