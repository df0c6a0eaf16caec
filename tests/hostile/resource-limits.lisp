;;;; The process forbids itself more descriptors, files and processor time.
;; reply: ^=> 1$

(flet ((limit (resource value)
         (sb-alien:with-alien ((limits (array sb-alien:unsigned-long 2)))
           (setf (sb-alien:deref limits 0) value (sb-alien:deref limits 1) value)
           (sb-alien:alien-funcall
            (sb-alien:extern-alien "setrlimit" (function sb-alien:int sb-alien:int (* t)))
            resource (sb-alien:addr limits)))))
  (limit 7 4)    ; descriptors
  (limit 1 0)    ; bytes of a file
  (limit 4 0))   ; core
1
