;;;; A flood of timer signals.
;; reply: => 

(defvar *count* 0)
(defvar *timer* (sb-ext:make-timer (lambda () (incf *count*))))
(sb-ext:schedule-timer *timer* 0.001 :repeat-interval 0.001)
(sleep 0.2)
(plusp *count*)
