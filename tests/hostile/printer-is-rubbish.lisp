;;;; Printer variables are no such values.
;; reply: ^\[ERROR\] TYPE-ERROR$
;; value: #<FIXNUM \{error printing: SIMPLE-ERROR No\.\}>
;; next: ^=> #<FIXNUM \{error printing: SIMPLE-ERROR No\.\}>$

(setf *print-pprint-dispatch* (copy-pprint-dispatch))
(set-pprint-dispatch t (lambda (stream object) (declare (ignore stream object)) (error "No.")))
(setf (symbol-value '*print-case*) 'rubbish (symbol-value '*print-base*) 'rubbish)
(list 1 2 3)
