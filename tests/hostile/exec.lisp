;;;; Becomes another program.
;; reply: ^\[ERROR\] LISP-PROCESS-ENDED\n.* The session is back to its state before this call\.

(sb-alien:with-alien ((arguments (array sb-alien:c-string 4)))
  (setf (sb-alien:deref arguments 0) "sh" (sb-alien:deref arguments 1) "-c"
        (sb-alien:deref arguments 2) "exit 5" (sb-alien:deref arguments 3) nil)
  (sb-alien:alien-funcall
   (sb-alien:extern-alien "execv" (function sb-alien:int sb-alien:c-string (* t)))
   "/bin/sh" (sb-alien:addr arguments)))
