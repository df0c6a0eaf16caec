;;;; Debugger hooks that signal.
;; reply: ^\[ERROR\] SIMPLE-ERROR\nagain

(setf *debugger-hook* (lambda (condition hook) (declare (ignore condition hook)) (error "again"))
      sb-ext:*invoke-debugger-hook* *debugger-hook*)
(error "No.")
