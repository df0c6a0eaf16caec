;;;; Closes all it finds, the control socket among them.
;; reply: LISP-PROCESS-ENDED
;; reply: The session is back to its state before this call\. Files written

(loop for fd from 0 below 1024 do (sb-unix:unix-close fd))
