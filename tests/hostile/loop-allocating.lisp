;;;; A loop that makes garbage.
;; then: cancel

(with-open-file (s "running" :direction :output))
(loop (make-list 1000))
