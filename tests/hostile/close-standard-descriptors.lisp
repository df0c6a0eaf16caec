;;;; Closes descriptors 0, 1 and 2.
;; reply: => NIL

(dotimes (fd 3) (sb-unix:unix-close fd))
