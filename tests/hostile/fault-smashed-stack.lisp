;;;; The control stack is overwritten, upwards from here.
;; reply: ^\[ERROR\] LISP-PROCESS-ENDED\n.* The session is back to its state before this call\.

(let ((here (sb-sys:sap-int (sb-vm::current-sp))))
  (loop for offset from 0 below 65536 by 8
        do (setf (sb-sys:sap-ref-64 (sb-sys:int-sap here) offset) #xdeadbeefdeadbeef)))
