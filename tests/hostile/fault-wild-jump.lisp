;;;; A call of an address where there is no code.
;; reply: ^\[ERROR\] ERROR\nUnhandled memory fault at #x

(sb-alien:alien-funcall
 (sb-alien:sap-alien (sb-sys:int-sap #x1234) (function sb-alien:void)))
