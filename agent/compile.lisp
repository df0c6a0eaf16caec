;;;; compile.lisp — compile and load the agent's files; used by build.lisp and by the tests.
;;;;
;;;; Everything is in a package of its own, which BUILD deletes: the image must hold no trace of it.

(require :asdf)

(defpackage #:cl-mcp-build
  (:use #:common-lisp)
  (:export #:compile-agent #:build))

(in-package #:cl-mcp-build)

(defparameter *files*
  '("package" "wire" "sbcl" "link" "escape" "plain" "printing" "conditions" "backtrace" "warnings"
    "streams" "interrupts" "ops" "definitions" "systems" "quicklisp" "loading"
    "defining" "eval" "checkpoint" "main")
  "In the order they are loaded.")

(defparameter *sources* *load-truename*)

(defun call-with-temporary-directory (function)
  "Call FUNCTION with a new directory that is gone afterwards."
  (let ((directory (uiop:ensure-directory-pathname
                    (format nil "~Acl-mcp-build-~36R"
                            (uiop:native-namestring (uiop:temporary-directory))
                            (random (expt 36 12) (make-random-state t))))))
    (ensure-directories-exist directory)
    (unwind-protect (funcall function directory)
      (uiop:delete-directory-tree directory :validate t))))

(defun compile-agent ()
  "Compile and load every file, by way of a temporary directory. Any warning is an error."
  (let ((warned nil)
        (*compile-verbose* nil)
        (*compile-print* nil))
    (handler-bind ((warning (lambda (condition)
                              (declare (ignore condition))
                              (setf warned t))))
      (with-compilation-unit ()
        (call-with-temporary-directory
         (lambda (directory)
           (dolist (name *files*)
             (let ((fasl (compile-file (merge-pathnames (format nil "~A.lisp" name) *sources*)
                                       :output-file (merge-pathnames (format nil "~A.fasl" name)
                                                                     directory))))
               (unless fasl
                 (error "~A.lisp does not compile" name))
               ;; A macro that was just compiled is "redefined" here.
               (handler-bind ((warning #'muffle-warning))
                 (load fasl))))))))
    (when warned
      (error "the agent compiles with warnings"))))

(defun image-path ()
  (or (uiop:getenvp "CL_MCP_WORKER_IMAGE")
      (first (last (uiop:raw-command-line-arguments)))))

(defun build ()
  "Compile the agent and save the image; the process ends here."
  (setf *standard-output* *error-output*)
  (handler-case (compile-agent)
    (error (condition)
      (format *error-output* "~&agent/build.lisp: ~A~%" condition)
      (uiop:quit 1)))
  (let ((path (image-path)))
    (delete-package '#:cl-mcp-build)
    (uiop:symbol-call '#:cl-mcp-agent '#:build-image path)))
