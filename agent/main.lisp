;;;; main.lisp — the life of a worker: start, serve, leave.

(in-package #:cl-mcp-agent)

(defconstant +protocol+ 1)

(defun send-ready ()
  (send (frame (list :ready :protocol +protocol+
                     :lisp (format nil "~A ~A" (lisp-implementation-type)
                                   (lisp-implementation-version))))))

(defun next-answer (&aux id)
  "The frame that answers the next request."
  (handler-case (let ((request (next-request)))
                  (setf id (request-id request))
                  (frame (answer request)))
    (malformed-message (condition)
      (frame `(:done :id ,id :condition
                     (:type "PROTOCOL-ERROR" :message ,(malformed-message-reason condition)))))
    (broken-stream () (leave 70))))

(defun serve ()
  "Answer requests until the server is gone. A copy that is resumed leaves the request behind in
which it was made: the original has answered it."
  (send-ready)
  (loop (block turn
          (let ((*leave-turn* (lambda () (return-from turn))))
            (send (next-answer))))))

(defun start ()
  "The image's toplevel function."
  (close-on-exec +control-fd+)
  (setf *process* (process-id))
  (restore-lisp-home)
  (install-streams)
  (install-signal-handlers #'on-interrupt)
  (name-process "lisp-template")        ; until it, or a copy of it, is told otherwise
  (setf *package* (find-package '#:common-lisp-user)
        *compile-verbose* nil)          ; chatter
  (begin-session)
  (serve))

(defun begin-session ()
  "What each session has of its own from the first."
  (setf *random-state* (make-random-state t))
  (start-systems))

(defun warm-up ()
  "Run every kind of evaluation once, so that the caches of generic functions are in the image; in a
package that is not."
  (let ((package (make-package '#:cl-mcp-warm-up :use '(#:common-lisp))))
    (dolist (code '("(list 1.5 \"a\" 'b #\\c)" "(error \"~A\" 1)" "(car 1)" "(let ((x 1)) (foo))"
                    "(warn \"a\")" ")"))
      (call-without-handlers
       (lambda ()
         (answer (list :evaluate :id 0 :code code :package (package-name package))))))
    (answer (list :list-definitions :id 0))
    (delete-package package))
  (setf * nil ** nil *** nil + nil ++ nil +++ nil / nil // nil /// nil - nil)
  (clrhash *mentions*))

(defun build-image (path)
  "Save the image to PATH: what is the same in every worker is done here, once."
  (remember-lisp-home)
  (keep-helper-threads-away)
  (silence-compiler)
  (replace-debugger #'handle-unhandled)
  (prepare-systems)
  (warm-up)
  (setf *package* (find-package '#:common-lisp-user)
        *image-packages* (remove *package* (list-all-packages)))
  (take-baseline)
  (lock-agent-package)
  (save-image path #'start))
