;;;; The main thread is terminated.
;; reply: ^\[ERROR\] LISP-PROCESS-ENDED\n.* The session is back to its state before this call\.

(sb-thread:terminate-thread sb-thread:*current-thread*)
(sleep 1)
