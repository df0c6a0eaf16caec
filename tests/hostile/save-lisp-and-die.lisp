;;;; Saves itself as an image, which ends the process.
;; reply: ^\[ERROR\] LISP-PROCESS-ENDED\n.* The session is back to its state before this call\.

(sb-ext:save-lisp-and-die "image")
