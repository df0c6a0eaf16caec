;;;; Raw bytes to all it finds: output on 1 and 2, nonsense on the rest.
;; reply: LISP-PROCESS-ENDED
;; reply: The session is back to its state before this call\. Files written

(let ((bytes (sb-ext:string-to-octets "nonsense nonsense nonsense")))
  (loop for fd from 0 below 64
        do (sb-unix:unix-write fd bytes 0 (length bytes))))
