;;;; A write through a null pointer: SBCL makes an error of it.
;; reply: ^\[ERROR\] ERROR\nUnhandled memory fault at #x

(setf (sb-sys:sap-ref-64 (sb-sys:int-sap 0) 0) 1)
