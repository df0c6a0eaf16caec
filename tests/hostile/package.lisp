;;;; The package is one that uses nothing, then none at all.
;; reply: ^=> T$

(setf *package* (make-package "EMPTY" :use ()))
(cl:setf cl:*package* (cl:make-package "GONE" :use ()))
(cl:delete-package cl:*package*)
