;;;; It exits, and a cleanup form does not let it.
;; then: cancel

(unwind-protect (sb-ext:exit)
  (with-open-file (s "running" :direction :output))
  (loop))
