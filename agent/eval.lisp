;;;; eval.lisp — evaluating the user's code, form by form.
;;;;
;;;; What a REPL keeps is kept by leaving it global: *PACKAGE*, *READTABLE*, printer variables that
;;;; user code sets, the variables * + / and -. Only the streams and the debugger's hooks are bound,
;;;; so that no evaluation can break the next.

(in-package #:cl-mcp-agent)

(defun evaluate-form (form)
  "The values of FORM as a list. The name is a landmark: backtraces end at this function's frame."
  (let ((*form* form))
    (multiple-value-list (eval form))))

(defun evaluate-as-repl (form)
  "As EVALUATE-FORM, with the REPL's variables set as at any REPL."
  (setf - form)
  (let ((values (unwind-protect (evaluate-form form)
                  (shiftf +++ ++ + form))))
    (shiftf /// // / values)
    (shiftf *** ** * (first values))
    (setf *package* (session-package))  ; the form may have deleted it
    values))

(defvar *definitions* '()
  "(start end package) of the forms of this evaluation that defined something, the last one first.")

(defun evaluate-code (code)
  "Read and evaluate the forms of CODE one by one; the values of the last."
  (let ((values '())
        (count 0)
        (end (list nil)))
    (loop with stream = (make-string-input-stream code)
          for start = (form-start code (file-position stream))
          for package = (package-name *package*) ; the form may change it or its name
          for form = (read-form stream end code start count)
          until (eq form end)
          do (note-form form)
             (let ((definition (defining-form-p form)))
               (setf values (evaluate-as-repl form))
               (when definition
                 (push (list start (file-position stream) package) *definitions*)))
             (incf count))
    values))

;;; What can be evaluated again

(defun definition-texts (code)
  "(text package) of each of the *DEFINITIONS* in CODE, in their order."
  (loop for (start end package) in (reverse *definitions*)
        ;; A reader macro of the user's may have moved the stream anywhere.
        when (< start end)
          collect (list (string-right-trim '(#\Space #\Tab #\Newline #\Return)
                                           (subseq code start end))
                        package)))

;;; Reading

(defun read-form (stream end code start count)
  "The next form of STREAM, or END. A reader error is told in words that help to mend CODE."
  (handler-bind ((reader-error
                   (lambda (condition)
                     (when (eq (stream-error-stream condition) stream)
                       (fail-to-read condition
                                     (concatenate 'string (reader-error-text condition)
                                                  " The reader stopped")
                                     code (file-position stream) count))))
                 (end-of-file
                   (lambda (condition)
                     (when (eq (stream-error-stream condition) stream)
                       (fail-to-read condition
                                     (format nil "The code ends inside a form: a closing ~
                                                  parenthesis, quote or bar is missing. ~
                                                  The form starts")
                                     code start count)))))
    ;; With *READ-SUPPRESS* true nothing could be read that sets it back. Not a tail call: backtraces
    ;; end at this function's frame.
    (let ((*read-suppress* nil))
      (values (read stream nil end)))))

(defun fail-to-read (condition reason code position count)
  "End the evaluation: COUNT forms of CODE were evaluated when the reader stopped at POSITION."
  (multiple-value-bind (line column) (line-and-column code position)
    (fail (type-text condition) "~A at line ~D, column ~D.~@[ ~A~]" reason line column
          (case count
            (0 nil)
            (1 "The form before it was evaluated.")
            (t (concatenate 'string "The " (plain-text count)
                            " forms before it were evaluated."))))))

;;; The package of a call

(defun call-in-package (package function)
  "Call FUNCTION in PACKAGE, or in the session's when it is NIL. Afterwards the session is back in
its own package, unless the code chose one."
  (let ((before (session-package))
        (*package-chosen* nil))
    (setf *package* (or package before))
    (unwind-protect (funcall function)
      (when (and package (eq *package* package) (not *package-chosen*))
        (setf *package* before))
      (setf *package* (session-package)))))

(defun package-named (name)
  "The package that NAME means in any case; NIL for none."
  (and name
       (or (find-package name)
           (find-package (string-upcase name))
           (fail "PACKAGE-ERROR" "The name \"~A\" does not designate any package." name))))

;;; The operation

(define-op :evaluate (&key code package)
  "Evaluate the forms of CODE, in PACKAGE if given; the printed values of the last."
  (let ((*definitions* '()))
    (multiple-value-bind (texts properties failure)
        (call-as-operation
         (lambda ()
           (load-quicklisp-for code)
           (call-in-package (package-named package)
                            (lambda () (value-texts (evaluate-code code))))))
      (append (unless failure (list :values (coerce texts 'vector)))
              (list :definitions (definition-texts code))
              properties))))
