;;;; quicklisp.lisp — the user's Quicklisp client, loaded only when it is needed.
;;;;
;;;; It takes half a second to load and most calls do without, so it waits until a system is found
;;;; nowhere else or the code speaks of it. Hazards: two workers that install releases into one home
;;;; at once break each other, so a lock is held; the client's ABORT restart makes a failed load
;;;; look like a success, so it is never invoked; progress bars are noise in a reply.

(in-package #:cl-mcp-agent)

(defun setup-candidates ()
  "Where a client's setup.lisp may be, most wanted first."
  (let ((home (user-homedir-pathname)))
    (append (let ((named (uiop:getenvp "CL_MCP_QUICKLISP")))
              (and named (list (uiop:parse-native-namestring named))))
            (list (merge-pathnames ".qlot/setup.lisp" *project-directory*))
            (loop for place in '("quicklisp/" ".quicklisp/" ".roswell/lisp/quicklisp/")
                  collect (merge-pathnames (concatenate 'string place "setup.lisp") home)))))

(defun quicklisp-loaded-p ()
  (find-package '#:quicklisp-client))

(defun quicklisp-home ()
  "Where the client that is loaded lives."
  (loop for package in '("QL-SETUP" "QUICKLISP-CLIENT")
        for variable = (and (find-package package) (find-symbol "*QUICKLISP-HOME*" package))
        when (and variable (boundp variable))
          return (symbol-value variable)))

(defun quicklisp-setup ()
  "The setup.lisp of the client that is loaded, or of the one to load."
  (if (quicklisp-home)
      (merge-pathnames "setup.lisp" (quicklisp-home))
      (some #'probe-file (setup-candidates))))

(defun quicklisp-available-p ()
  (or (quicklisp-loaded-p) (quicklisp-setup)))

(defun load-quicklisp (&optional (setup (quicklisp-setup)))
  "Make sure the client is loaded; what it defines is not the session's."
  (unless (quicklisp-loaded-p)
    (call-loading-system (lambda ()
                           (let ((*standard-output* (make-broadcast-stream)))
                             (load setup))))))

(defun speaks-of-quicklisp-p (code)
  "True when CODE seems to name a symbol of the client's."
  (loop for prefix in '("ql:" "quicklisp:" "quicklisp-client:")
        for position = (search prefix code :test #'char-equal)
        thereis (and position
                     (or (zerop position)
                         (find (char code (1- position)) '(#\( #\' #\Space #\Newline))))))

(defun load-quicklisp-for (code)
  "A REPL of the user's would have loaded the client from its init file: so do we, when CODE needs
it."
  (when (and (speaks-of-quicklisp-p code)
             (not (quicklisp-loaded-p))
             (quicklisp-setup))
    (load-quicklisp)))

(defun quicklisp-symbol (name)
  (find-symbol name '#:quicklisp-client))

(defun call-with-quicklisp-lock (function)
  "Call FUNCTION while no other worker uses the client's home."
  (let ((setup (quicklisp-setup)))
    (if setup
        (call-with-file-lock (uiop:native-namestring (merge-pathnames "cl-mcp-server.lock" setup))
                             function)
        (funcall function))))

(defun load-with-quicklisp (name)
  "Load NAME with the client; its lines."
  (load-quicklisp)
  (let ((output (make-string-output-stream)))
    (handler-bind ((error (lambda (condition) (on-quicklisp-error condition name))))
      (let ((*standard-output* output))
        (call-with-quicklisp-lock
         (lambda () (funcall (quicklisp-symbol "QUICKLOAD") name)))))
    (telling-lines (get-output-stream-string output))))

(defun on-quicklisp-error (condition name)
  "Turn the client's own not-found condition into the contract's words."
  (let ((type (quicklisp-symbol "SYSTEM-NOT-FOUND"))
        (reader (quicklisp-symbol "SYSTEM-NOT-FOUND-NAME")))
    (when (and type (find-class type nil) (typep condition type))
      (let ((missing (if (and reader (fboundp reader)) (funcall reader condition) name)))
        (fail-not-found missing (and (string/= missing name) (format nil "\"~A\"" name)))))))

(defun telling-lines (output)
  "The lines of OUTPUT without progress bars, dots and blank lines."
  (loop for line in (uiop:split-string output :separator '(#\Newline #\Return))
        for text = (string-right-trim " " line)
        unless (or (every (lambda (char) (find char ".=- ")) text)
                   (eql 0 (search "[package " text)))
          collect text))
