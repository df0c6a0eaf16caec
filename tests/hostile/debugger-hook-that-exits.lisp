;;;; A debugger hook that ends the process.
;; dies: exited with code 5

(setf sb-ext:*invoke-debugger-hook*
      (lambda (condition hook) (declare (ignore condition hook)) (sb-ext:exit :code 5 :abort t)))
(error "No.")
