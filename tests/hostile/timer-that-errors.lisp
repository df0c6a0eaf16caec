;;;; A timer whose function signals, between two calls.
;; reply: => NIL
;; rest: yes
;; notice: exited with code 70.*The session is back to its state after the last call\.

(sb-ext:schedule-timer (sb-ext:make-timer (lambda () (error "too late"))) 0.05)
nil
