;;;; A thread that ends the process between two calls.
;; reply: => :STARTED
;; rest: yes
;; notice: exited with code 6.*The session is back to an older checkpoint, since there could be no newer one: Threads are running\.

(sb-thread:make-thread (lambda () (sleep 0.1) (sb-ext:exit :code 6 :abort t)))
:started
