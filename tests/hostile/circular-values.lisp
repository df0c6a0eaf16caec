;;;; Lists that end in themselves, deep and wide.
;; reply: => 

(let ((list (list 1 2 3)) (deep 1))
  (setf (cdddr list) list (second list) list)
  (dotimes (i 100000) (setf deep (vector deep)))
  (list list deep))
