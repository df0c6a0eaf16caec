;;;; systems.lisp — loading systems through ASDF, and keeping account of them.
;;;;
;;;; Every road to a system (our own operation, an evaluated ASDF:LOAD-SYSTEM or QL:QUICKLOAD, a
;;;; REQUIRE) passes through ASDF:OPERATE or REQUIRE, so those two are wrapped: what a system
;;;; defines joins the baseline, its style warnings are its author's business, and the list of
;;;; loaded systems is looked at again. Full warnings are recorded but never muffled inside the
;;;; compiler: muffling would make ASDF load what it ought to refuse.
;;;;
;;;; Hazards: ASDF upgrades itself in a running image when it finds a newer one; it remembers the
;;;; build's home and cache directories; a source registry scanned as a tree can take seconds.

(in-package #:cl-mcp-agent)

(defvar *image-systems* '()
  "Names of the systems and modules that the image was made with.")

(defvar *systems* '()
  "(name path-of-asd) of each system loaded since, in the order they were loaded.")

(defvar *systems-touched* nil
  "True when *SYSTEMS* may be out of date.")

(defvar *project-directory* nil
  "Where the worker was started.")

;;; Image and start

(defun prepare-systems ()
  "Once, when the image is made."
  (asdf:register-immutable-system "asdf")
  (asdf:register-immutable-system "uiop")
  (push 'project-registry asdf:*default-source-registries*)
  (asdf:clear-configuration)
  (setf *image-systems* (loaded-names))
  (encapsulate 'asdf:operate #'call-loading-system)
  (encapsulate 'require #'call-loading-system))

(defun start-systems ()
  "In each new worker."
  (uiop:call-image-restore-hook)
  (setf *project-directory* (or (ignore-errors (uiop:getcwd)) ; it may be gone
                                #P"/")))

(defun project-registry ()
  "What ASDF's registry begins with. ASDF asks when it first looks for a system; nothing is scanned
before."
  `(:source-registry (:directory ,*project-directory*) :inherit-configuration))

(defun call-loading-system (loader &rest arguments)
  "Call LOADER, which loads systems; only the outermost of nested calls is of interest."
  (if *loading-system*
      (apply loader arguments)
      (let ((*loading-system* t)
            (*compile-verbose* nil)
            (*load-verbose* nil))
        (use-writable-cache)
        (unwind-protect
             (call-keeping-definitions-apart
              (lambda ()
                ;; Here too, inside whatever handlers the loader was called in: QL:QUICKLOAD muffles
                ;; all warnings, and nobody would hear of them.
                (handler-bind ((warning #'notice-warning))
                  (with-compilation-unit (:override t)
                    (apply loader arguments)))))
          (setf *systems-touched* t)))))

;;; The account

(defun loaded-names ()
  (remove-duplicates (append (and (quicklisp-loaded-p) '("quicklisp"))
                             (asdf:already-loaded-systems)
                             (mapcar #'string-downcase *modules*))
                     :test #'string=))

(defun system-path (name)
  "The file to load for NAME to be known again: its .asd, or the setup.lisp of a Quicklisp client."
  (let ((path (if (string= name "quicklisp")
                  (quicklisp-setup)
                  (ignore-errors (asdf:system-source-file (asdf:registered-system name))))))
    (and path (uiop:native-namestring path))))

(defun in-load-order (names)
  "NAMES with every system behind those of them that it depends on."
  (let ((ordered '()))
    (labels ((visit (name)
               (when (and (member name names :test #'string=)
                          (not (member name ordered :test #'string=)))
                 (setf names (remove name names :test #'string=))
                 (mapc #'visit (dependencies name))
                 (push name ordered))))
      (mapc #'visit (sort (copy-list names) #'string<)))
    (nreverse ordered)))

(defun dependencies (name)
  (ignore-errors
   (loop for dependency in (asdf:system-depends-on (asdf:registered-system name))
         when (or (stringp dependency) (symbolp dependency))
           collect (asdf:coerce-name dependency))))

(defun changed-systems ()
  "All systems when there are new ones since this was last asked, else NIL."
  (when (shiftf *systems-touched* nil)
    (let ((new (set-difference (loaded-names)
                               (append *image-systems* (mapcar #'first *systems*))
                               :test #'string=)))
      (when new
        (setf *systems* (append *systems*
                                (loop for name in (in-load-order new)
                                      collect (list name (system-path name)))))))))

(defun loaded-system-lines ()
  (loop for (name) in *systems*
        unless (string= name "quicklisp")
          collect (string-upcase name)))

;;; A cache that can be written

(defun use-writable-cache ()
  "Where ASDF could not write compiled files (a sandbox, a read-only home), let it use a private
directory among the temporary ones."
  (unless (or (uiop:getenvp "ASDF_OUTPUT_TRANSLATIONS")
              (cache-writable-p))
    (asdf:initialize-output-translations
     `(:output-translations (t (,(private-temporary-directory) :**/ :*.*.*))
                            :ignore-inherited-configuration))))

(defun cache-writable-p ()
  (ignore-errors
   (let ((target (asdf:apply-output-translations
                  (merge-pathnames "probe.fasl" *project-directory*))))
     (ensure-directories-exist target)
     (writable-directory-p (directory-namestring target)))))

(defun private-temporary-directory ()
  "A directory for this user alone among the temporary ones. Where somebody else took its name, what
they might have put there must not be loaded."
  (let ((path (format nil "~Acl-mcp-fasl-~D"
                      (uiop:native-namestring (uiop:temporary-directory)) (user-id))))
    (if (private-directory path)
        (uiop:ensure-directory-pathname path)
        (error "Compiled files have no place: neither ASDF's cache nor ~A can be used." path))))
