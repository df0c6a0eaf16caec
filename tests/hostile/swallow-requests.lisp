;;;; Reads from the control socket what is meant for the agent.
;; then: cancel

(with-open-file (s "running" :direction :output))
(let ((buffer (make-array 100 :element-type '(unsigned-byte 8))))
  (sb-sys:with-pinned-objects (buffer)
    (loop (sb-unix:unix-read 3 (sb-sys:vector-sap buffer) 100))))
