;;;; An array larger than the heap.
;; reply: (?i)\[ERROR\] .*(exhausted|storage|HEAP|LISP-PROCESS-ENDED)

(make-array (floor (sb-ext:dynamic-space-size) 8))
