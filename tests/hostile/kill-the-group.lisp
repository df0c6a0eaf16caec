;;;; SIGKILL to its whole process group.
;; dies: killed by signal 9

(sb-alien:alien-funcall (sb-alien:extern-alien "kill" (function sb-alien:int sb-alien:int sb-alien:int)) 0 9)
(sleep 1000)
