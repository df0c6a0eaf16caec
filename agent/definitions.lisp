;;;; definitions.lisp — what the session defined.
;;;;
;;;; There is no hook on definitions, so we compare: the baseline is a table of every definition
;;;; object (function, macro function, class, method, type expander; for a variable its symbol) and
;;;; its names that the image was made with or that a system brought; whatever exists now and is not
;;;; in it is the session's. Identity makes a session's redefinition of a system's function the
;;;; session's; and so is another name for a function that was there.
;;;; Nothing is scanned while evaluating: only when definitions are listed and around system loads.

(in-package #:cl-mcp-agent)

(defvar *baseline* (make-hash-table :test 'eq)
  "Definition object → the names it has without the session.")

(defvar *image-packages* '()
  "The packages of the image. Lisp binds variables of its own in them as it goes.")

(defun baseline-p (object)
  (values (gethash object *baseline*)))

(defun note-definition (name object table)
  (pushnew name (gethash object table) :test #'equal))

(defun noted-p (name object table)
  (member name (gethash object table) :test #'equal))

(defstruct definition
  kind name object)

(defun map-definitions (function)
  "Call FUNCTION with kind, name and object of every definition in the image."
  (dolist (package (list-all-packages))
    (with-package-iterator (next package :internal :external)
      (loop
        (multiple-value-bind (more symbol) (next)
          (unless more (return))
          (when (eq (symbol-package symbol) package)
            (map-definitions-of symbol function)))))))

(defun function-object (name)
  "The function or macro function that NAME names, without what a tracer put before it."
  (when (fboundp name)
    (or (and (symbolp name) (macro-function name))
        (fdefinition name))))

(defun map-definitions-of (symbol function)
  (flet ((functions-of (name)
           (let ((object (function-object name)))
             (when object
               (funcall function (if (and (symbolp name) (macro-function name)) :macro :function)
                        name object)
               (when (typep object 'generic-function)
                 (dolist (method (generic-function-methods object))
                   (funcall function :method name method)))))))
    (functions-of symbol)
    (functions-of `(setf ,symbol))
    (when (and (variable-p symbol) (not (keywordp symbol)))
      (funcall function :variable symbol symbol))
    (let ((class (find-class symbol nil)))
      (when (and class (eq (class-name class) symbol))
        (funcall function :class symbol class)))
    (let ((expander (type-expander symbol)))
      (when expander
        (funcall function :type symbol expander)))))

(defun foreign-p (kind name object)
  "True when the image itself made this definition: it binds variables, and gives functions further
names, as it goes."
  (and (or (eq kind :variable) (baseline-p object))
       (symbolp name)
       (member (symbol-package name) *image-packages*)
       (not (mentioned-p name))))

(defun session-definitions ()
  "Every definition that is not in the baseline."
  (let ((found '()))
    (map-definitions (lambda (kind name object)
                       (unless (or (noted-p name object *baseline*)
                                   (foreign-p kind name object))
                         (push (make-definition :kind kind :name name :object object) found))))
    found))

(defun take-baseline (&optional session)
  "Make every definition part of the baseline, but for the SESSION's."
  (let ((own (make-hash-table :test 'eq)))
    (dolist (definition session)
      (note-definition (definition-name definition) (definition-object definition) own))
    (map-definitions (lambda (kind name object)
                       (declare (ignore kind))
                       (unless (noted-p name object own)
                         (note-definition name object *baseline*))))))

(defun call-keeping-definitions-apart (function)
  "Call FUNCTION, which loads a system: what it defines is not the session's."
  (let ((session (session-definitions)))
    (unwind-protect (funcall function)
      (take-baseline session))))

;;; The order of mention

(defvar *mentions* (make-hash-table :test 'equal)
  "Name → the ordinal of the first top-level form of the session that defines it.")

(defun mention (name)
  (unless (gethash name *mentions*)
    (setf (gethash name *mentions*) (hash-table-count *mentions*))))

(defun mentioned-p (name)
  (gethash name *mentions*))

(defvar *package-chosen* nil
  "True once a top-level IN-PACKAGE was seen in this evaluation.")

(defun note-form (form)
  "Remember which names the top-level FORM defines or assigns, and whether it changes the package.
The form may be anything at all, improper lists included."
  (when (and (consp form) (symbolp (first form)) (ignore-errors (list-length form)))
    (destructuring-bind (operator &rest arguments) form
      (case operator
        ((progn locally) (mapc #'note-form arguments))
        (eval-when (mapc #'note-form (rest arguments)))
        ((setf setq psetf psetq)
         (loop for (place) on arguments by #'cddr do (note-assignment place)))
        (multiple-value-setq
         (when (listp (first arguments)) (mapc #'note-assignment (first arguments))))
        (in-package (setf *package-chosen* t))
        (t (when (and arguments (eql 0 (search "DEF" (symbol-name operator))))
             (let ((name (first arguments)))
               (mention (if (and (eq operator 'defstruct) (consp name)) (first name) name)))))))))

(defun note-assignment (place)
  (when (symbolp place)
    (mention place)
    (pushnew place (recorder-assigned *recorder*))))

;;; The listing

(defparameter *sections*
  '((:function "Functions") (:variable "Variables") (:macro "Macros") (:class "Classes")
    (:method "Methods") (:type "Types"))
  "Kinds in the order they are shown, under these headings.")

(defun in-order (definitions)
  "DEFINITIONS by first mention, then by name."
  (flet ((rank (definition)
           (or (mentioned-p (definition-name definition)) most-positive-fixnum)))
    (sort (sort definitions #'string< :key (lambda (d) (plain-text (definition-name d))))
          #'< :key #'rank)))

(defun hidden-names (definitions)
  "Names of the functions that the session's DEFSTRUCTs made."
  (let ((names (make-hash-table :test 'equal)))
    (dolist (definition definitions names)
      (when (eq (definition-kind definition) :class)
        (dolist (name (structure-functions (definition-name definition)))
          (setf (gethash name names) t
                (gethash `(setf ,name) names) t))))))

(defun shown-p (definition hidden)
  (let ((name (definition-name definition)))
    (ecase (definition-kind definition)
      (:function (not (gethash name hidden)))
      ;; Those of a generic function that the session defined are counted on its line.
      (:method (baseline-p (function-object name)))
      ((:variable :macro :class :type) t))))

(defun definition-line (definition)
  (let ((name (plain-text (definition-name definition)))
        (object (definition-object definition)))
    (ecase (definition-kind definition)
      ((:function :macro)
       (format nil "~A ~A~@[ [generic, ~D method~:P]~]" name (lambda-list-text object)
               (and (typep object 'generic-function)
                    (length (generic-function-methods object)))))
      (:variable (if (boundp object)
                     (format nil "~A = ~A" name (short-text (symbol-value object)))
                     (format nil "~A (unbound)" name)))
      (:class (format nil "~A~@[ [~A]~]" name
                      (cond ((typep object 'structure-class) "structure")
                            ((subtypep object 'condition) "condition"))))
      (:method (format nil "~A ~{~A ~}~A" name (mapcar #'plain-text (method-qualifiers object))
                       (plain-text (method-specializer-names object))))
      (:type name))))

(defun lambda-list-text (function)
  "The lambda list; names that SBCL made up are shown without their packages."
  (with-plain-printer
    (let ((*print-length* nil)
          (*print-level* nil)
          (*print-gensym* nil))
      (safe-text +message-limit+
                 (lambda (stream)
                   (let ((list (lambda-list function)))
                     (if list (prin1 (presentable list) stream) (write-string "()" stream))))
                 (lambda (failure) (declare (ignore failure)) "(...)")))))

(defun presentable (tree)
  (cond ((consp tree) (cons (presentable (car tree)) (presentable (cdr tree))))
        ((and tree (symbolp tree) (implementation-symbol-p tree))
         (make-symbol (symbol-name tree)))
        (t tree)))

(defun section-text (heading lines)
  (format nil "[~A]~{~%- ~A~}" heading lines))

(defun definitions-text (kinds systems)
  "As SECTIONS-TEXT, whatever the values and the user's printer do."
  (with-plain-printer
    (call-with-time-limit *listing-seconds* (lambda () (sections-text kinds systems)))))

(defun sections-text (kinds systems)
  "Sections for the definitions of KINDS that have any, then one for SYSTEMS."
  (let* ((definitions (session-definitions))
         (hidden (hidden-names definitions))
         (sections
           (loop for (kind heading) in *sections*
                 for shown = (and (member kind kinds)
                                  (remove-if-not (lambda (definition)
                                                   (and (eq (definition-kind definition) kind)
                                                        (shown-p definition hidden)))
                                                 definitions))
                 when shown
                   collect (section-text heading
                                         (mapcar #'definition-line (in-order shown))))))
    (when systems
      (setf sections (append sections (list (section-text "Loaded Systems" systems)))))
    (if sections
        (format nil "~{~A~^~2%~}" sections)
        "No user definitions.")))

(define-op :list-definitions (&key type)
  "List what the session defined: everything, or one TYPE of it."
  (let ((kind (cdr (assoc type '(("functions" . :function) ("variables" . :variable)
                                 ("macros" . :macro) ("classes" . :class))
                          :test #'equal))))
    (unless (or kind (member type '(nil "all") :test #'equal))
      (malformed "The type of definitions to list is unknown."))
    (multiple-value-bind (text properties)
        (call-as-operation
         (lambda ()
           (definitions-text (if kind (list kind) (mapcar #'first *sections*))
                             (unless kind (loaded-system-lines)))))
      (list* :text text properties))))
