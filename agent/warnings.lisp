;;;; warnings.lisp — recording the warnings of one operation.
;;;;
;;;; A warning signalled at run time is recorded and muffled. One that the compiler passes on is
;;;; recorded and declined: the compiler's printing is silenced (see SILENCE-COMPILER), and only a
;;;; declined warning makes COMPILE, COMPILE-FILE and so ASDF see the failure.
;;;;
;;;; What is left out is settled in the contract's README: warnings that SBCL gives because it sees
;;;; the session form by form, and that say nothing a reader of the reply does not know.

(in-package #:cl-mcp-agent)

(defconstant +warnings-limit+ 100)

;;; Recorded at most: more than is shown, since some will be left out.
(defconstant +notes-limit+ 1000)

(defstruct note
  "One recorded warning. KIND and NAME say which undefined name it is about, if it is; PLACE is
where in a system's source it was."
  (type "" :type string)
  (text "" :type string)
  (place nil)
  (kind nil)
  (name nil))

(defstruct recorder
  "The warnings of one operation, newest first, each once; how many came after there was no room;
and the variables that the operation assigns at top level."
  (notes '() :type list)
  (count 0 :type fixnum)
  (unrecorded 0 :type fixnum)
  (assigned '() :type list))

(defvar *recorder* nil)

(defvar *loading-system* nil
  "True while a system is being loaded: its style is its author's business.")

(defun warning-type-text (condition)
  (let ((type (shown-type condition)))
    (if (eq type 'simple-warning) "WARNING" (type-text condition))))

(defun record (type text &key kind name (place (and *loading-system* (compiling-p) (place-text))))
  (let ((note (make-note :type type :text text :kind kind :name name :place place)))
    (unless (member note (recorder-notes *recorder*) :test #'same-note-p)
      (incf (recorder-count *recorder*))
      (push note (recorder-notes *recorder*)))))

(defun same-note-p (one other)
  (and (string= (note-text one) (note-text other))
       (string= (note-type one) (note-type other))
       (equal (note-place one) (note-place other))))

(defun recorder-full-p ()
  (>= (recorder-count *recorder*) +notes-limit+))

(defun place-text ()
  "file:line:column of the top-level form that is being compiled, as far as it is known."
  (multiple-value-bind (file position) (source-place)
    (let ((file (if (pathnamep file) file *compile-file-truename*)))
      (when file
        (format nil "~A~@[:~{~D:~D~}~]" (namestring file)
                (and position (ignore-errors (file-line-and-column file position))))))))

(defun file-line-and-column (file position)
  "Line and column of the form behind POSITION in FILE."
  (let ((text (uiop:read-file-string file)))
    (multiple-value-list (line-and-column text (form-start text position)))))

(defun form-start (text position)
  "Where the form behind POSITION begins: white space and line comments are skipped."
  (loop for start = (position-if-not (lambda (char)
                                       (member char '(#\Space #\Tab #\Newline #\Return #\Page)))
                                     text :start position)
        while (and start (char= (char text start) #\;))
        do (setf position (or (position #\Newline text :start start) (length text)))
        finally (return (or start (length text)))))

(defun line-and-column (text position)
  "Line and column, from 1, of POSITION in TEXT."
  (let* ((position (min position (length text)))
         (break (position #\Newline text :end position :from-end t)))
    (values (1+ (count #\Newline text :end position))
            (if break (- position break) (1+ position)))))

(defun noteworthy-p (warning)
  (typecase warning
    (redefinition (and (not *loading-system*) (baseline-p (redefined-object warning))))
    (style-warning (not *loading-system*))
    ;; ASDF's word about the style warnings of a file.
    (uiop:compile-warned-warning nil)
    (t t)))

(defun record-warning (warning)
  (cond ((not (noteworthy-p warning)))
        ((recorder-full-p) (incf (recorder-unrecorded *recorder*)))
        (t (record-noteworthy warning))))

(defun record-noteworthy (warning)
  (multiple-value-bind (kind name) (undefined-reference warning)
    (cond ((null kind)
           (record (warning-type-text warning) (one-line (report-text warning))))
          ((not (eq name :more))
           (record (if (eq kind :variable) "WARNING" "STYLE-WARNING")
                   (with-plain-printer
                     (format nil "undefined ~(~A~): ~A" kind (plain-text name)))
                   :kind kind :name name)))))

(defun notice-warning (warning)
  "Record WARNING and decline it. True when it is one: SIGNAL of a warning, without WARN, is not a
warning to anybody."
  (when (and *recorder* (find-restart 'muffle-warning warning))
    (record-warning warning)
    t))

(defun on-warning (warning)
  (let ((compiling (compiling-p)))
    (when (and (notice-warning warning) (not compiling))
      (muffle-warning warning))))

(defun on-compiler-error (condition)
  "The compiler replaces the code at hand by a call to ERROR and goes on: a warning by its effect."
  (when *recorder*
    (multiple-value-bind (text place) (read-failure-text condition)
      (if text
          (record "ERROR" text :place place)
          (record "ERROR" (one-line (report-text condition)))))))

(defun call-recording-warnings (function)
  "Call FUNCTION with *RECORDER* collecting its warnings, those at the end of the unit included."
  (handler-bind ((warning #'on-warning)
                 (compiler-error #'on-compiler-error))
    (with-compilation-unit (:override t)
      (funcall function))))

;;; What to tell of them

(defun failure-name (failure)
  "The name that FAILURE is about, when it is that it has no definition."
  (let ((condition (and failure (failure-condition failure))))
    (when (typep condition '(or undefined-function unbound-variable))
      (cell-error-name condition))))

(defun left-out-p (note failure assigned)
  (let ((name (note-name note)))
    (or (and name
             (or (equal name (failure-name failure))
                 (and (eq (note-kind note) :variable) (member name assigned))))
        ;; The failure tells it already.
        (and failure (search (note-text note) (failure-message failure))))))

(defun reason-texts (recorder)
  "Why compiling a system failed: its notes, with their places in front."
  (loop for note in (reverse (recorder-notes recorder))
        when (note-place note)
          collect (format nil "~A: ~A: ~A" (note-place note) (note-type note) (note-text note))))

(defun warning-texts (recorder failure)
  "The lines to show, each once, in the order they came."
  (with-plain-printer (note-lines recorder failure)))

(defun note-lines (recorder failure)
  (let* ((texts (loop for note in (reverse (recorder-notes recorder))
                      unless (left-out-p note failure (recorder-assigned recorder))
                        collect (format nil "~A: ~A~@[ (~A)~]" (note-type note) (note-text note)
                                        (note-place note))))
         (shown (min (length texts) +warnings-limit+))
         (more (+ (- (length texts) shown) (recorder-unrecorded recorder))))
    (append (subseq texts 0 shown)
            (when (plusp more)
              (list (format nil "WARNING: ~D more warnings are not shown." more))))))
