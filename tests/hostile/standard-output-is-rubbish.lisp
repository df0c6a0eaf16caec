;;;; The standard streams are set to what is no stream.
;; reply: ^\[ERROR\] TYPE-ERROR$

(setf *standard-output* 42 *error-output* nil *standard-input* "no" *terminal-io* 'rubbish)
(print 1)
