;;;; Machine code that is not Lisp's: one instruction, which jumps to itself.
;; then: cancel

(defvar *code*
  (sb-alien:alien-funcall
   (sb-alien:extern-alien "mmap" (function sb-sys:system-area-pointer sb-alien:unsigned-long sb-alien:unsigned-long
                                           sb-alien:int sb-alien:int sb-alien:int sb-alien:long))
   0 4096 7 #x22 -1 0))
(setf (sb-sys:sap-ref-32 *code* 0) #+x86-64 #xfeeb #+arm64 #x14000000)
(with-open-file (s "running" :direction :output))
(sb-alien:alien-funcall (sb-alien:sap-alien *code* (function sb-alien:void)))
