;;;; Closes what the server listens to.
;; reply: LISP-PROCESS-ENDED
;; reply: The session is back to its state before this call\. Files written

(loop for fd from 3 below 10 do (sb-unix:unix-close fd))
