;;;; The package in which it works is deleted.
;; reply: ^=> T$

(defpackage :mine (:use :cl))
(in-package :mine)
(defun f () 1)
(delete-package :mine)
