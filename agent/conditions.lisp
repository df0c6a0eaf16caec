;;;; conditions.lisp — what we say about a condition: its type and its message.
;;;;
;;;; Hazards: a report function is user code; a condition met while describing a condition must not
;;;; start the description again; with the stack or the heap exhausted there is no room to print
;;;; before the stack is unwound.

(in-package #:cl-mcp-agent)

(defvar *describing* nil
  "True while a failure is being described, so that a failing description ends there.")

(defun describe-failure (condition)
  "The failure that CONDITION is; called where it was signalled."
  (cond ((typep condition 'storage-condition)
         (make-failure :type "STORAGE-CONDITION" :message (storage-text condition)
                       :frames (bare-backtrace)))
        (*describing*
         ;; Without the printer: it may be what fails.
         (make-failure :type (symbol-name (class-name (class-of condition)))
                       :message "(its report function failed too)"))
        (t
         (let ((*describing* t))
           (make-failure :type (type-text condition) :condition condition
                         :message (call-with-time-limit *values-seconds*
                                                        (lambda () (message-text condition)))
                         :frames (call-with-time-limit *listing-seconds*
                                                       (lambda () (backtrace condition))))))))

;;; Types

(defun standard-name-p (name)
  (eq (symbol-package name) (load-time-value (find-package '#:common-lisp))))

(defun shown-type (condition)
  "The name of CONDITION's class, or of the standard class that one of SBCL's own specialises."
  (let ((names (class-precedence-names (class-of condition))))
    (if (or (implementation-symbol-p (first names))
            (package-missing-p (first names))
            (eq (first names) 'simple-type-error))
        (find-if (lambda (name)
                   (and (standard-name-p name)
                        (not (member name '(simple-condition simple-type-error)))))
                 names)
        (first names))))

(defun publisher (symbol)
  "The name under which ASDF exports SYMBOL, one of its own, to programmers."
  (and (asdf-symbol-p symbol)
       (find-if (lambda (package)
                  (equal (multiple-value-list (find-symbol (symbol-name symbol) package))
                         (list symbol :external)))
                '("ASDF" "UIOP"))))

(defun asdf-symbol-p (symbol)
  "True when SYMBOL belongs to one of the packages that ASDF is made of."
  (let ((package (symbol-package symbol)))
    (and package
         (or (eql 0 (search "ASDF/" (package-name package)))
             (eql 0 (search "UIOP/" (package-name package)))))))

(defun symbol-text (symbol)
  "SYMBOL as the session would write it; those of ASDF as everybody does."
  (let ((publisher (publisher symbol)))
    (if publisher
        (concatenate 'string publisher ":" (symbol-name symbol))
        (plain-text symbol))))

(defun type-text (condition)
  "The type line: standard names have no prefix, also where the session's package lacks them."
  (let ((type (shown-type condition)))
    (if (standard-name-p type)
        (symbol-name type)
        (symbol-text type))))

;;; Messages

(defun report-text (condition)
  "CONDITION's own report, on one line where SBCL would only fill lines; line breaks that the report
itself asks for stay."
  (with-plain-printer
    (string-right-trim
     '(#\Newline #\Space)
     (safe-text +message-limit+
                (lambda (stream) (princ condition stream))
                (lambda (failure)
                  (if (took-too-long-p failure)
                      "(no message: its report function took too long)"
                      (format nil "(no message: its report function failed with ~A)"
                              (failure-type failure))))))))

(defun read-failure-text (condition)
  "When CONDITION is that a file cannot be read: one sentence about it, and file:line:column."
  (multiple-value-bind (reason file line column) (file-read-error condition)
    (when reason
      (values (if (typep reason 'end-of-file)
                  "The file ends inside the form that starts here."
                  (reader-error-text reason))
              (format nil "~A~@[:~D~]~@[:~D~]" file line column)))))

(defun reader-error-text (condition)
  (as-sentence (one-line (or (simple-reader-error-text condition)
                             (report-text condition)))))

(defun message-text (condition)
  (with-plain-printer
    (multiple-value-bind (text place) (read-failure-text condition)
      (if text
          (format nil "~A (~A)" text place)
          (specific-text condition)))))

(defun specific-text (condition)
  (typecase condition
    (compiled-program-error
     (format nil "The code does not compile: ~A"
             (one-line (compiled-program-error-text condition))))
    (type-error
     (let ((report (report-text condition)))
       (cond ((own-lines-p condition) report)
             ((typep condition 'simple-condition) (one-line report))
             (t (type-error-text (one-line report))))))
    (end-of-file (end-of-file-text condition))
    (t (report-text condition))))

(defun own-lines-p (condition)
  "True when a programmer chose the report of CONDITION, and so its line breaks."
  (if (library-symbol-p (class-name (class-of condition)))
      (and (typep condition 'simple-condition)
           (let ((control (simple-condition-format-control condition)))
             (and (stringp control)
                  (or (find #\Newline control) (search "~%" control)))))
      t))

(defun type-error-text (report)
  "REPORT as a sentence, without the name of a variable inside a standard function."
  (let* ((binding (search " when binding " report :from-end t))
         (variable (and binding (subseq report (+ binding (length " when binding "))))))
    (as-sentence (if (and variable
                          (or (eql 0 (search "SB-" variable))
                              (find-symbol variable '#:common-lisp)))
                     (subseq report 0 binding)
                     report))))

(defun as-sentence (text)
  (if (or (find (char text (1- (length text))) ".!?")
          (char= (char text 0) #\())    ; no message
      text
      (concatenate 'string text ".")))

(defun end-of-file-text (condition)
  (if (conversation-p (stream-error-stream condition))
      (format nil "End of file: standard input is empty. Nobody can answer here; ~
                   pass the value in the code instead.")
      (report-text condition)))

(defun storage-text (condition)
  "A constant: nothing can be printed where this is called."
  (let ((name (symbol-name (class-name (class-of condition)))))
    (cond ((search "HEAP" name)
           "Heap exhausted: there is not enough memory for this. What it held was released.")
          ((search "CONTROL-STACK" name)
           "Control stack exhausted: the recursion is too deep, or has no end.")
          (t "Storage exhausted."))))
