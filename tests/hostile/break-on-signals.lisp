;;;; Every condition enters the debugger.
;; reply: ^\[ERROR\] SIMPLE-CONDITION\nNo\.

(setf *break-on-signals* t)
(error "No.")
