;;;; Tells the server of a message of 4 GB on the control socket.
;; reply: LISP-PROCESS-ENDED
;; reply: The session is back to its state before this call\. Files written

(sb-unix:unix-write 3 (sb-ext:string-to-octets "ffffffff(:done") 0 14)
(+ 1 2)
