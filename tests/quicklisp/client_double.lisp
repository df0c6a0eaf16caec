;;;; NOT Quicklisp: a double of its client, for the tests of cl-mcp-server.
;;;;
;;;; The real client is in no package that a test machine could install. Debian has the real bootstrap, which
;;;; installs this file as <home>/setup.lisp from a server on the loopback; the bootstrap's HTTP and tar do the
;;;; fetching here. Where the double speaks, it speaks as the client of 2021-02-13: names of packages and conditions,
;;;; reports, restarts, "; Loading" lines, lower-cased names, what beats what (ASDF first, then the dist).
;;;;
;;;; What it lacks: the size check of archives, the index files (cdb), the dots of progress, local projects, updates,
;;;; several dists, proxies, prompts, QL-HTTP's own conditions (a 404 here is the bootstrap's SIMPLE-ERROR), and
;;;; nearly all other functions of QL and QL-DIST.
;;;;
;;;; Like the real one, it unpacks every archive through one temporary file, so two of them at once in one home
;;;; break each other.

(require "asdf")

(defpackage #:ql-setup
  (:use #:cl)
  (:export #:*quicklisp-home* #:qmerge))

(in-package #:ql-setup)

(defvar *quicklisp-home* (make-pathname :name nil :type nil :version nil :defaults *load-truename*))

(defun qmerge (path)
  (merge-pathnames path *quicklisp-home*))

;;; Debian's bootstrap, compiled once, for its HTTP and tar.
(unless (find-package '#:qlqs-http)
  (let ((fasl (qmerge "bootstrap.fasl"))
        (*standard-output* (make-broadcast-stream))
        (*error-output* (make-broadcast-stream)))
    (unless (probe-file fasl)
      (handler-bind ((warning #'muffle-warning))
        (compile-file #p"/usr/share/common-lisp/source/quicklisp/quicklisp.lisp" :output-file fasl)))
    (load fasl)))

(defpackage #:quicklisp-client
  (:nicknames #:quicklisp #:ql)
  (:use #:cl)
  (:import-from #:ql-setup #:qmerge)
  (:export #:quickload #:system-not-found #:system-not-found-name #:register-local-projects))

(in-package #:quicklisp-client)

(define-condition system-not-found (error)
  ((name :initarg :name :reader system-not-found-name))
  (:report (lambda (condition stream)
             (format stream "System ~S not found" (system-not-found-name condition)))))

;;; The dist: two line-based indexes, fetched when it is installed and never again.

(defun fetch (url file)
  (ensure-directories-exist file)
  (let ((*standard-output* (make-broadcast-stream)))
    (qlqs-http:fetch url file :quietly t))
  file)

(defun dist-file (name)
  (qmerge (format nil "dists/cl-mcp-test/~A" name)))

(defun words (line)
  (remove "" (uiop:split-string line :separator " ") :test #'string=))

(defun rows (name)
  (loop for line in (uiop:read-file-lines (dist-file name))
        unless (or (string= line "") (char= (char line 0) #\#))
          collect (words line)))

(defun install-dist (url)
  (fetch url (dist-file "distinfo.txt"))
  (flet ((entry (key)
           (second (assoc key (rows "distinfo.txt") :test #'string=))))
    (fetch (entry "system-index-url:") (dist-file "systems.txt"))
    (fetch (entry "release-index-url:") (dist-file "releases.txt"))))

(defun dist-system (name)
  "The row of systems.txt: project, system file, system name, dependencies."
  (find name (rows "systems.txt") :key #'third :test #'string=))

(defun installed-asd (name)
  (destructuring-bind (&optional project system-file &rest rest) (dist-system name)
    (declare (ignore rest))
    (when project
      (let ((prefix (sixth (find project (rows "releases.txt") :key #'first :test #'string=))))
        (probe-file (dist-file (format nil "software/~A/~A.asd" prefix system-file)))))))

(defun ensure-installed (name)
  (unless (installed-asd name)
    (let* ((project (first (dist-system name)))
           (url (second (find project (rows "releases.txt") :key #'first :test #'string=)))
           (archive (qmerge (format nil "tmp/~A.tgz" project)))
           (tar (qmerge "tmp/release-install.tar")))
      (format t "; Fetching #<URL ~S>~%" url)
      (fetch url archive)
      (uiop:run-program (list "gzip" "-dc" (uiop:native-namestring archive)) :output tar :if-output-exists :supersede)
      (qlqs-minitar:unpack-tarball tar :directory (ensure-directories-exist (dist-file "software/")))
      (delete-file tar)
      (delete-file archive))))

(defun dist-searcher (name)
  "For ASDF: a system of an installed release. A real client answers for its dists in the same way."
  (installed-asd (string-downcase name)))

(unless (member 'dist-searcher asdf:*system-definition-search-functions*)
  (setf asdf:*system-definition-search-functions*
        (append asdf:*system-definition-search-functions* (list 'dist-searcher))))

;;; Quickload

(defun ensure-available (name)
  "ASDF knows NAME already, or it and what the index says it needs are installed from the dist."
  (loop until (or (asdf:find-system name nil) (dist-system name))
        do (restart-case (cerror "Try again" 'system-not-found :name name)
             (abort ()
               :report (lambda (stream) (format stream "Give up on ~S" name))
               (return-from ensure-available nil))
             (register-local-projects ()
               :report "Register local projects and try again.")))
  (unless (asdf:find-system name nil)
    (mapc #'ensure-available (cdddr (dist-system name)))
    (ensure-installed name)))

(defun load-with-late-dependencies (name)
  "A dependency that only the .asd file names is looked for when ASDF misses it."
  (loop
    (handler-case (return (asdf:load-system name :verbose nil))
      (asdf:missing-dependency (condition)
        (ensure-available (string-downcase (asdf/find-component:missing-requires condition)))))))

(defun quickload (systems &key verbose silent prompt explain &allow-other-keys)
  (declare (ignore prompt explain))
  (let ((*standard-output* (if silent (make-broadcast-stream) *standard-output*))
        (*trace-output* (if silent (make-broadcast-stream) *trace-output*))
        (systems (if (listp systems) systems (list systems))))
    (dolist (system systems systems)
      (let ((name (string-downcase system)))
        (format t "To load ~S:~%  Load 1 ASDF system:~%    ~A~%" name name)
        (ensure-available name)
        (format t "; Loading ~S~%" name)
        (if verbose
            (load-with-late-dependencies name)
            ;; The real client's quiet mode: a full WARNING in a file does not fail the load.
            (let ((*compile-verbose* nil) (*compile-print* nil) (*load-verbose* nil) (*load-print* nil))
              (handler-bind ((warning #'muffle-warning))
                (load-with-late-dependencies name))))
        (terpri)))))

(defun register-local-projects ()
  nil)

;;; First start: what the bootstrap was told.
(let ((parameters (and (find-package '#:quicklisp-quickstart)
                       (find-symbol "*QUICKSTART-PARAMETERS*" '#:quicklisp-quickstart))))
  (when (and parameters (boundp parameters) (getf (symbol-value parameters) :initial-dist-url))
    (install-dist (getf (symbol-value parameters) :initial-dist-url))))

(pushnew :quicklisp *features*)
