;;;; A gigabyte of output.
;; reply: => :WRITTEN
;; seconds: 60

(let ((line (make-string 1048576 :initial-element #\x)))
  (setf (char line 1048575) #\Newline)
  (dotimes (i 1024) (write-string line)))
:written
