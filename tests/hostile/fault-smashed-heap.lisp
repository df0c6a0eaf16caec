;;;; The elements of a living vector become pointers to nowhere, and the collector runs over them.
;; reply: ^\[ERROR\] LISP-PROCESS-ENDED\n.* The session is back to its state before this call\.

(defvar *victim* (make-array 10000 :initial-element 0))
(sb-sys:with-pinned-objects (*victim*)
  (let ((here (logandc2 (sb-kernel:get-lisp-obj-address *victim*) 15)))
    (loop for index from 2 below 10000
          do (setf (sb-sys:sap-ref-64 (sb-sys:int-sap here) (* 8 index))
                   (logior 3 (logandc2 (+ here (* 16 (random 100000))) 15))))))
(dotimes (times 5) (sb-ext:gc :full t))
(car (aref *victim* (random 10000)))
