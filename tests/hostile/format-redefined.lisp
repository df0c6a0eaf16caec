;;;; cl:format is another function.
;; reply: ^=> 1$

(sb-ext:unlock-package :cl)
(handler-bind ((warning #'muffle-warning))
  (setf (fdefinition 'cl:format) (lambda (&rest all) all)))
1
