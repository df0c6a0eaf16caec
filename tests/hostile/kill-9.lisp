;;;; SIGKILL to itself.
;; dies: killed by signal 9

(require :sb-posix)
(eval (read-from-string "(sb-posix:kill (sb-posix:getpid) 9)"))
(sleep 1000)
