;;;; A timer that ends the process between two calls.
;; reply: => NIL
;; rest: yes
;; notice: exited with code 6

(sb-ext:schedule-timer (sb-ext:make-timer (lambda () (sb-ext:exit :code 6 :abort t))) 0.05)
nil
