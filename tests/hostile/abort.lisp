;;;; Leaves by the restart that every REPL has.
;; reply: ^\[ERROR\] ABORTED$

(abort)
