;;;; A condition whose report signals it again.
;; reply: ^\[ERROR\] BAD$

(define-condition bad (error) () (:report (lambda (condition stream) (declare (ignore stream)) (error condition))))
(error 'bad)
