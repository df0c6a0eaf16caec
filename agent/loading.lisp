;;;; loading.lisp — the operations load-system and restore-systems.
;;;;
;;;; ASDF first, with the project's directory in its registry; then files that appeared since the
;;;; registry was scanned, or lie deeper in the project; then Quicklisp, where the user has it. A
;;;; failed load can be tried again: nothing is remembered of it.

(in-package #:cl-mcp-agent)

;;; Finding

(defun find-known-system (name)
  (or (asdf:find-system name nil)
      ;; A file that appeared after the registry was scanned.
      (progn (asdf:clear-source-registry)
             (asdf:find-system name nil))))

(defconstant +search-depth+ 3)
(defconstant +search-directories+ 2000)

(defun find-asd-below (directory name)
  "The file NAME.asd in or a few levels below DIRECTORY, breadth first and bounded."
  (let ((level (list directory))
        (visited 0))
    (loop repeat (1+ +search-depth+)
          do (dolist (directory level)
               (when (> (incf visited) +search-directories+)
                 (return-from find-asd-below nil))
               (let ((file (probe-file (make-pathname :name name :type "asd" :version nil
                                                      :defaults directory))))
                 (when file
                   (return-from find-asd-below file))))
             (setf level (mapcan #'visible-subdirectories level)))))

(defun visible-subdirectories (directory)
  (remove-if (lambda (below)
               (char= #\. (char (first (last (pathname-directory below))) 0)))
             (ignore-errors (uiop:subdirectories directory))))

(defun locate-system (name)
  "Make NAME known to ASDF. The .asd file that we had to look for ourselves, or T; NIL when there
is none."
  (if (find-known-system name)
      t
      (let ((file (find-asd-below *project-directory* (asdf:primary-system-name name))))
        (when file
          (asdf:load-asd file)
          (and (asdf:find-system name nil) file)))))

;;; Failures

(defun where-we-looked ()
  (format nil "~:[Quicklisp is not installed; searched~;Searched Quicklisp,~] ~
               ASDF's source registry and ~A."
          (quicklisp-available-p)
          (uiop:native-namestring *project-directory*)))

(defun fail-not-found (name &optional required-by)
  (fail "QUICKLISP-CLIENT:SYSTEM-NOT-FOUND"
        "System \"~A\" not found in any known distribution.~@[ It is required by ~A.~]~%~A"
        name required-by (where-we-looked)))

(defun missing-dependency-text (condition)
  (if (typep condition 'asdf:missing-dependency-of-version)
      (report-text condition)
      (format nil "System \"~A\" not found~@[, required by ~A~].~%~A"
              (asdf:coerce-name (asdf/find-component:missing-requires condition))
              (requirer-text (asdf/find-component:missing-required-by condition))
              (where-we-looked))))

(defun definition-error-text (condition)
  (format nil "The definition of system \"~A\" in ~A cannot be loaded: ~A"
          (asdf/find-system:error-name condition)
          (uiop:native-namestring (asdf/find-system:error-pathname condition))
          (message-text (asdf/find-system:error-condition condition))))

(defun requirer-text (component)
  (typecase component
    (null nil)
    (asdf:component (format nil "\"~{~A~^/~}\"" (asdf:component-find-path component)))
    (t (short-text component))))

(defun explain-load-failure (failure)
  "FAILURE with the reasons the compiler gave, and without frames."
  (let ((condition (failure-condition failure))
        (message (failure-message failure)))
    (make-failure :type (failure-type failure)
                  :message (typecase condition
                             (asdf:missing-dependency (missing-dependency-text condition))
                             (asdf:load-system-definition-error (definition-error-text condition))
                             (uiop:compile-file-error
                              (format nil "~A~{~%~A~}" message (reason-texts *recorder*)))
                             (t message)))))

;;; Loading

(defun system-name-of (text)
  "The name of the system that TEXT means: it may be written as a keyword, in any case."
  (string-downcase (string-left-trim ":" (string-trim '(#\Space #\Tab #\Newline #\Return) text))))

(defun load-by-name (name)
  "Load the system NAME by whichever road has it; the loader's lines."
  (let ((located (locate-system name)))
    (cond ((and located (load-with-asdf name))
           (append (unless (eq located t)
                     (list (format nil "; Found ~A" (uiop:native-namestring located))))
                   (list (format nil "; Loading \"~A\"" name))))
          ((quicklisp-available-p) (load-with-quicklisp name))
          (t (fail-not-found name)))))

(defun load-with-asdf (name)
  "True when ASDF loaded NAME; false when a dependency is missing that Quicklisp may have."
  (handler-bind ((asdf:missing-component
                   (lambda (condition)
                     (declare (ignore condition))
                     (when (quicklisp-available-p)
                       (return-from load-with-asdf nil)))))
    (asdf:load-system name)
    t))

(defun loaded-line (name)
  (format nil "Loaded: ~A~@[ (version ~A)~]" name
          (ignore-errors (asdf:component-version (asdf:find-system name)))))

(define-op :load-system (&key system)
  "Load SYSTEM with ASDF or Quicklisp; what was loaded, in the loader's words."
  (let ((name (system-name-of system)))
    (multiple-value-bind (text properties)
        (call-as-operation
         (lambda ()
           (format nil "Loading system: ~A~{~%~A~}~%~A" name (load-by-name name)
                   (loaded-line name)))
         :explain #'explain-load-failure)
      (list* :text text properties))))

(defun restore-system (name path)
  (cond ((string= name "quicklisp")
         (load-quicklisp (or (and path (probe-file path)) (quicklisp-setup))))
        ((or (asdf:find-system name nil)
             (and path (probe-file path)
                  (progn (asdf:load-asd path) (asdf:find-system name nil))))
         (asdf:load-system name))
        (t (require (string-upcase name)))))

(defun restore-or-say-why (name path)
  "NIL, or a line that says why the system would not load."
  (multiple-value-bind (results failure)
      (call-with-escape (lambda () (restore-system name path)))
    (declare (ignore results))
    (when failure
      (format nil "~A: ~A" name (one-line (failure-message failure))))))

(define-op :restore-systems (&key systems)
  "Load SYSTEMS, a list of (name path), quietly; one line for each that would not load."
  (multiple-value-bind (text properties)
      (call-as-operation
       (lambda ()
         (let ((*standard-output* (make-broadcast-stream)))
           (format nil "~{~A~^~%~}" (loop for (name path) in systems
                                          for line = (restore-or-say-why name path)
                                          when line collect line)))))
    (list* :text text properties)))
