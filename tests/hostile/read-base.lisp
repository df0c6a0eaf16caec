;;;; Words are read as numbers.
;; reply: ^=> 

(setf *read-base* 36)
