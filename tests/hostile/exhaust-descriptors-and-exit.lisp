;;;; No descriptor is left for the checkpoint, and then it dies: the older checkpoint is back.
;; dies: exited with code 3

(defvar *open* (loop for fd = (sb-unix:unix-open "/dev/null" 0 0) while fd collect fd))
(sb-ext:exit :code 3 :abort t)
