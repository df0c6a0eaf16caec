;;;; An error in a thread that nobody handles.
;; reply: => 

(sb-thread:make-thread (lambda () (error "in a thread")))
(sleep 0.1)
1
