;;;; plain.lisp — our own words: text under standard printer variables, whatever the user set.
;;;;
;;;; Hazard: a PRINT-OBJECT method of the user's for T or SYMBOL, say, takes part in printing
;;;; anything at all, in FORMAT too. What we say must not depend on it. So while there is such a
;;;; method, a pprint dispatch table of our own prints, which is asked before PRINT-OBJECT is.

(in-package #:cl-mcp-agent)

(defun session-package ()
  "The session's package; CL-USER when user code deleted it, made anew when that is gone too."
  ;; Inline, SBCL takes CL-USER for granted.
  (declare (notinline find-package))
  (cond ((and (packagep *package*) (package-name *package*)) *package*)
        ((find-package '#:common-lisp-user))
        (t (make-package '#:common-lisp-user :nicknames '(#:cl-user) :use '(#:common-lisp)))))

;;; A printer without PRINT-OBJECT

(defun bare-symbol-text (symbol)
  (let ((name (symbol-name symbol))
        (package (symbol-package symbol)))
    (multiple-value-bind (found status) (find-symbol name *package*)
      (concatenate 'string
                   (cond ((and status (eq found symbol)) "")
                         ((null package) "#:")
                         ((keywordp symbol) ":")
                         (t (concatenate 'string (package-name package)
                                         (if (eq :external (nth-value 1 (find-symbol name package)))
                                             ":"
                                             "::"))))
                   (if (or (string= name "")
                           (find-if (lambda (char)
                                      (or (lower-case-p char) (find char " ()\"';`,|\\:#")))
                                    name))
                       (concatenate 'string "|" name "|")
                       name)))))

(defun write-bare-symbol (stream symbol)
  (write-string (if *print-escape* (bare-symbol-text symbol) (symbol-name symbol)) stream))

(defun write-bare-string (stream string)
  (if *print-escape*
      (progn
        (write-char #\" stream)
        (loop for char across string
              do (when (find char "\"\\") (write-char #\\ stream))
                 (write-char char stream))
        (write-char #\" stream))
      (write-string string stream)))

(defun write-bare-character (stream character)
  (when *print-escape*
    (write-string "#\\" stream))
  (write-string (or (and *print-escape* (not (graphic-char-p character)) (char-name character))
                    (string character))
                stream))

(defun write-bare-integer (stream integer)
  (write-decimal integer stream))

(defun write-bare-list (stream list)
  (if (and (eq (first list) 'quote) (consp (rest list)) (null (cddr list)))
      (progn
        (write-char #\' stream)
        (prin1 (second list) stream))
      (pprint-logical-block (stream list :prefix "(" :suffix ")")
        (loop (pprint-exit-if-list-exhausted)
              (write (pprint-pop) :stream stream)
              (pprint-exit-if-list-exhausted)
              (write-char #\Space stream)))))

(defun public-class-name (object)
  "The name of OBJECT's class, or of the nearest above it that programmers know."
  (let ((names (class-precedence-names (class-of object))))
    (or (find-if-not #'implementation-symbol-p names)
        (first names))))

(defun write-bare-object (stream object)
  (write-string "#<" stream)
  (write-bare-symbol stream (public-class-name object))
  (write-char #\> stream))

(defun write-bare-condition (stream condition)
  (if *print-escape*
      (write-bare-object stream condition)
      (write-report condition stream)))

(defparameter *bare-dispatch*
  (let ((table (copy-pprint-dispatch nil)))
    (loop for (type priority function)
            in '((t -1 write-bare-object)
                 (cons 0 write-bare-list)
                 (symbol 1 write-bare-symbol)
                 (string 1 write-bare-string)
                 (character 1 write-bare-character)
                 (integer 1 write-bare-integer)
                 (condition 1 write-bare-condition))
          do (set-pprint-dispatch type function priority table))
    table)
  "Prints what our own words are made of; of anything else, only its class.")

;;; The variables

(defun call-with-plain-printer (function)
  (let ((package (session-package))
        (bare (printer-replaced-p)))
    (with-standard-io-syntax
      (let ((*package* package)
            (*print-readably* nil)
            (*print-pretty* bare)       ; else the dispatch table is not asked
            (*print-pprint-dispatch* (if bare *bare-dispatch* *print-pprint-dispatch*))
            (*print-right-margin* most-positive-fixnum)
            ;; Looking for circles means printing twice, the first time without our bound.
            (*print-circle* nil)
            (*print-length* 20)
            (*print-level* 6)
            (*break-on-signals* nil))
        (call-without-references function)))))

(defmacro with-plain-printer (&body body)
  `(call-with-plain-printer (lambda () ,@body)))

(defun plain-text (object)
  "OBJECT, of ours or built in, in standard syntax and relative to the session's package."
  (with-plain-printer (prin1-to-string object)))

(defun class-text (object)
  (plain-text (public-class-name object)))

;;; Lines

(defun one-line (text)
  "TEXT with every run of line breaks and the indentation behind it made one space."
  (if (not (find #\Newline text))
      text
      (with-output-to-string (line)
        (loop with skipping = nil
              for char across (string-trim '(#\Newline #\Space) text)
              do (cond ((char= char #\Newline)
                        (unless skipping (write-char #\Space line))
                        (setf skipping t))
                       ((and skipping (char= char #\Space)))
                       (t (write-char char line)
                          (setf skipping nil)))))))

(defun first-line (text)
  "TEXT up to its first line break, with a mark if there is one: what is joined would be another
value."
  (let ((end (position #\Newline text)))
    (if end
        (concatenate 'string (subseq text 0 end) " ...")
        text)))
