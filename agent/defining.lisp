;;;; defining.lisp — which forms are definitions, to be evaluated again when a session is resumed.
;;;;
;;;; Decided by the look of a top-level form, before it is evaluated: nothing is expanded and nothing
;;;; is scanned. Hazards: a form may be anything at all, circles included, so the walk is bounded and
;;;; takes no list for a proper one.

(in-package #:cl-mcp-agent)

(defparameter *defining-operators*
  '(in-package declaim proclaim export import use-package shadow shadowing-import unexport
    unuse-package make-package rename-package delete-package unintern fmakunbound makunbound
    require load provide set-macro-character set-dispatch-macro-character set-syntax-from-char
    make-dispatch-macro-character
    asdf:load-system asdf:load-systems asdf:load-asd asdf:require-system)
  "What changes the world of definitions, or what later forms are read with, under another name than
DEF….")

(defparameter *defining-names* '("QUICKLOAD" "IN-READTABLE")
  "The same, of libraries that are not in the image.")

(defparameter *defining-places*
  '(fdefinition symbol-function macro-function compiler-macro-function find-class documentation
    symbol-plist get readtable-case)
  "To assign one of these is to define.")

(defparameter *containers*
  '((progn . 0) (locally . 0) (eval-when . 1) (when . 1) (unless . 1) (let . 1) (let* . 1)
    (flet . 1) (labels . 1) (macrolet . 1) (symbol-macrolet . 1))
  "Operators whose body is looked into, and how many arguments stand before it.")

(defconstant +forms-looked-at+ 2000
  "How much of one top-level form is looked at; beyond it lies a circle.")

(defun defining-operator-p (operator)
  (let ((name (symbol-name operator)))
    (or (member operator *defining-operators* :test #'eq)
        (member name *defining-names* :test #'string=)
        ;; A function is none, however it is called: DEFAULT-VALUE.
        (and (eql 0 (search "DEF" name))
             (or (macro-function operator) (not (fboundp operator)))))))

(defun defining-place-p (place)
  (if (consp place)
      (member (car place) *defining-places* :test #'eq)
      (eq place '*readtable*)))

(defun defining-form-p (form)
  "True when the top-level FORM is a definition or its body contains one."
  (let ((left +forms-looked-at+))
    (labels ((next-p (list)
               (and (consp list) (plusp (decf left))))
             (look (form)
               (and (consp form)
                    (symbolp (car form))
                    (or (defining-operator-p (car form))
                        (case (car form)
                          ((setf setq) (look-at-places (cdr form)))
                          (t (look-at-container (cdr form) (assoc (car form) *containers*)))))))
             (look-at-places (rest)
               (loop while (next-p rest)
                     thereis (defining-place-p (pop rest))
                     do (when (consp rest) (pop rest))))
             (look-at-container (rest container)
               (when container
                 (loop repeat (cdr container) while (consp rest) do (pop rest))
                 (loop while (next-p rest)
                       thereis (look (pop rest))))))
      (and (look form) t))))
