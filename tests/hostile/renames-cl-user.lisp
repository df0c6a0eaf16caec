;;;; COMMON-LISP-USER has another name.
;; reply: ^=> 1$
;; keep: older-user::*keep*

(rename-package :cl-user "OLDER-USER")
1
