;;;; A loop that does nothing.
;; then: cancel

(with-open-file (s "running" :direction :output))
(loop)
