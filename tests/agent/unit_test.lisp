;;;; unit_test.lisp — the parts of the agent that need no worker: wire, printing, messages, warnings,
;;;; definitions, reading.

(defpackage #:cl-mcp-agent-test
  (:use #:common-lisp #:fiveam)
  (:import-from #:cl-mcp-agent
                #:parse-form #:frame #:receive #:malformed-message #:broken-stream #:encode-utf-8
                #:decode-utf-8 #:value-text #:value-texts #:one-line #:short-text #:bounded-text
                #:line-and-column #:form-start #:type-text #:message-text #:type-error-text
                #:make-note #:make-recorder #:make-failure #:warning-texts #:answer #:note-form
                #:record #:record-warning #:recorder-notes #:+notes-limit+
                #:mentioned-p #:*recorder* #:recorder-assigned #:system-name-of #:telling-lines
                #:frame-symbol #:definition-line #:make-definition #:lambda-list-text
                #:call-with-escape #:failure-type #:failure-message #:first-line #:plain-text
                #:call-with-time-limit #:*values-seconds* #:*listing-seconds*
                #:hidden-frame-p #:inside-call-p #:written-form-p #:defining-form-p))

(in-package #:cl-mcp-agent-test)

(def-suite agent)
(in-suite agent)

;;; Wire

(defun octets (&rest values)
  (coerce values '(simple-array (unsigned-byte 8) (*))))

(defun text-of-frame (form)
  (decode-utf-8 (subseq (frame form) 8)))

(defun receive-from (octets step)
  "What RECEIVE makes of OCTETS when no read gives more than STEP of them."
  (let ((position 0))
    (receive (lambda (buffer start)
               (let ((count (min step (- (length buffer) start) (- (length octets) position))))
                 (replace buffer octets :start1 start :start2 position :end2 (+ position count))
                 (incf position count)
                 count)))))

(defparameter *messages*
  '((:done :id 7 :values ("3" "2") :package "COMMON-LISP-USER")
    (:evaluate :id -12 :code "(format t \"a\\b~%\")" :package nil)
    (:a1-b t nil () (("x") (1)))
    "tab	newline
λ → 𝄞 "))

(test what-is-written-is-read-back
  (dolist (form *messages*)
    (is (equal form (parse-form (text-of-frame form))))))

(test a-frame-survives-being-cut-at-every-byte
  (dolist (form *messages*)
    (let ((octets (frame form)))
      (loop for step from 1 to (length octets)
            do (is (equal form (receive-from octets step)))))))

(test a-frame-that-ends-early-is-the-end-of-the-stream
  (let ((octets (frame (first *messages*))))
    (loop for end below (length octets)
          do (is (eq :end-of-stream (receive-from (subseq octets 0 end) 3))))))

(test an-empty-list-can-be-told-from-nil
  (is (string= "()" (text-of-frame #())))
  (is (string= "nil" (text-of-frame nil)))
  (is (string= "(\"a\")" (text-of-frame #("a")))))

(test the-writer-ignores-the-printer-variables
  (let ((*print-base* 2) (*print-radix* t) (*print-case* :capitalize) (*print-length* 1))
    (is (string= "(:done 10 -10 \"x\")" (text-of-frame '(:done 10 -10 "x"))))))

(test a-header-is-eight-lower-case-digits
  (is (equalp (map 'vector #'char-code "00000002") (subseq (frame #()) 0 8)))
  (dolist (header '("0000000g" "0000000A" "-0000001" "ffffffff" "04000001"))
    (signals broken-stream (receive-from (apply #'octets (map 'list #'char-code header)) 8))))

(test what-is-no-form-is-malformed
  (dolist (text '("" "(" ")" "(1" "\"a" "\"a\\" "(1  2)" "(1 2 )" "( 1)" "1 2" "foo" ":" ":A" ":1"
                  ":a_b" "+1" "--1" "1.5" "9223372036854775808" "#.(quit)" "'a" "(a . b)" "NIL" "T"
                  "99999999999999999999999"))
    (signals malformed-message (parse-form text)))
  (signals malformed-message
    (parse-form (concatenate 'string (make-string 100000 :initial-element #\()
                             (make-string 100000 :initial-element #\))))))

(test integers-have-64-bits
  (is (= (1- (expt 2 63)) (parse-form "9223372036854775807")))
  (is (= (- (expt 2 63)) (parse-form "-9223372036854775808"))))

(test utf-8-is-read-strictly
  (dolist (bad (list (octets #x80) (octets #xC3) (octets #xC0 #x80) (octets #xE0 #x80 #x80)
                     (octets #xED #xA0 #x80) (octets #xF4 #x90 #x80 #x80) (octets #xFF)
                     (octets #xF0 #x80 #x80 #x80) (octets #xC3 #x28)))
    (signals malformed-message (decode-utf-8 bad)))
  (loop for code in '(0 #x7F #x80 #x7FF #x800 #xFFFF #x10000 #x10FFFF)
        for text = (string (code-char code))
        do (is (string= text (decode-utf-8 (encode-utf-8 text))))))

(test surrogates-are-written-as-the-replacement-character
  (is (equalp (encode-utf-8 (string (code-char #xFFFD)))
              (encode-utf-8 (string (code-char #xD800))))))

;;; Operations

(test a-request-that-is-none-is-answered
  (dolist (request '(nil 1 "x" (:nonsense :id 3) (:evaluate :id 3 :bogus 1) (:evaluate :id)
                     (:evaluate 1 2) (evaluate)))
    (let ((answer (answer request)))
      (is (eq :done (first answer)))
      (is (equal "PROTOCOL-ERROR" (getf (getf (rest answer) :condition) :type)))))
  (is (eql 3 (getf (rest (answer '(:nonsense :id 3))) :id))))

(test operations-are-listed-with-their-keys
  (is (search (format nil ":evaluate :code :package~%")
              (getf (rest (answer '(:operations :id 1))) :text))))

;;; Printing

(test values-are-printed-under-the-contracts-variables
  (let ((*print-length* 1) (*print-level* 1) (*print-readably* t) (*print-pretty* nil))
    (is (string= "(1 (2 (3 (4))))" (value-text '(1 (2 (3 (4)))) 100))))
  (is (search "...)" (value-text (make-list 200) 10000)))
  (let ((circle (list 1 2 3)))
    (setf (cdddr circle) circle)
    (is (string= "#1=(1 2 3 . #1#)" (value-text circle 100)))))

(test other-printer-variables-are-the-users
  (let ((*print-base* 16) (*print-case* :downcase))
    (is (string= "(FF xyz)" (value-text '(255 xyz) 100)))))

(test a-long-text-is-cut-with-a-mark
  (is (string= "abc ...[cut after 3 characters]"
               (bounded-text 3 (lambda (stream) (write-string "abcd" stream)))))
  (is (string= "abc" (bounded-text 3 (lambda (stream) (write-string "abc" stream)))))
  (is (string= "abc ...[cut after 3 characters]"
               (bounded-text 3 (lambda (stream) (loop (write-char #\a stream) (write-char #\b stream)
                                                      (write-char #\c stream)))))))

(test all-values-share-one-bound
  (let ((texts (value-texts (list (make-string 2000000 :initial-element #\x) 2 3))))
    (is (= 2 (length texts)))
    (is (string= "...[2 more values]" (second texts))))
  (is (= 101 (length (value-texts (make-list 1000))))))

(test one-line-joins-lines-and-their-indentation
  (is (string= "a b c" (one-line (format nil "~%a~%   b~%~%c~%")))))

(test short-texts-are-short
  (is (<= (length (short-text (make-string 1000))) 120))
  (is (string= "'A" (short-text ''a))))

(test a-cut-value-says-that-it-is-cut
  (is (string= "\"a ..." (short-text (format nil "a~%b"))))
  (is (string= "a" (first-line "a"))))

;;; Time

(defclass endless () ())

(defmethod print-object ((object endless) stream)
  "Never ends, and handles and cleans up whatever it can."
  (declare (ignore stream))
  (handler-case (unwind-protect (loop) (loop))
    (condition () (loop))))

(defmacro in-little-time (&body body)
  `(let ((*values-seconds* 1/20)
         (*listing-seconds* 1/20))
     ,@body))

(test values-that-print-for-ever-are-given-up
  (in-little-time
    (is (equal '("#<ENDLESS {printing took too long}>" "#<CONS {printing took too long}>")
               (let ((*package* #.*package*))
                 (value-texts (list (make-instance 'endless) (list 1 (make-instance 'endless))))))))
  (is (equal '("(1)") (value-texts '((1))))))

(test all-of-a-listing-shares-its-time-and-atoms-need-none
  (in-little-time
    (let ((*package* #.*package*))
      (is (equal '("#<ENDLESS {printing took too long}>" "#<CONS {printing took too long}>" "3"
                   "\"a\"")
                 (call-with-time-limit
                  *listing-seconds*
                  (lambda ()
                    (mapcar #'short-text (list (make-instance 'endless) '(1) 3 "a")))))))))

(test a-limit-leaves-no-timer-and-no-thread
  (in-little-time (value-texts (list (make-instance 'endless))))
  (is (null (sb-ext:list-all-timers)))
  (is (= 1 (length (sb-thread:list-all-threads)))))

(test a-timer-of-the-users-goes-on
  (let* ((rung nil)
         (timer (sb-ext:make-timer (lambda () (setf rung t)) :thread sb-thread:*current-thread*)))
    (sb-ext:schedule-timer timer 1/50)
    (in-little-time (value-texts (list (make-instance 'endless))))
    (is (eq t rung))))

;;; Our own words

(defun opaque (object)
  (declare (notinline identity))
  (identity object))

(defun condition-of (function)
  (handler-case (progn (funcall function) nil)
    (condition (condition) condition)))

(defmacro with-hostile-printer ((&body hostility) &body body)
  "Run BODY while every printing of anything comes by HOSTILITY."
  `(let ((method (eval '(defmethod print-object :around (object stream)
                         (declare (ignorable object stream))
                         ,@hostility))))
     (unwind-protect (progn ,@body)
       (remove-method #'print-object method))))

(test our-own-words-do-without-print-object
  (let ((*package* #.*package*)
        texts)
    (with-hostile-printer ((error "no"))
      (setf texts (list (plain-text '(a :b "c\"d" #\e 12 (quote |f g|) car (1 . 2)))
                        (short-text 'opaque)
                        (message-text (condition-of (lambda () (car (opaque 42)))))
                        (message-text (condition-of (lambda () (error "~A ~S" 1 "x")))))))
    (is (equal '("(A :B \"c\\\"d\" #\\e 12 '|f g| CAR (1 . 2))" "OPAQUE"
                 "The value 42 is not of type LIST." "1 \"x\"")
               texts))))

;;; Conditions

(test internal-types-are-shown-as-the-standard-ones
  (flet ((shown (function) (type-text (condition-of function))))
    (is (string= "SIMPLE-ERROR" (shown (lambda () (error "x")))))
    (is (string= "TYPE-ERROR" (shown (lambda () (car (opaque 1))))))
    (is (string= "TYPE-ERROR"
                 (shown (lambda ()
                          (error 'simple-type-error :datum 1 :expected-type 'list
                                                    :format-control "x")))))
    (is (string= "PROGRAM-ERROR" (shown (lambda () (funcall (opaque #'car) 1 2)))))
    (is (string= "PACKAGE-ERROR" (shown (lambda () (find-symbol "A" (opaque "NO-SUCH-PACKAGE"))))))
    (is (string= "ASDF:MISSING-COMPONENT"
                 (shown (lambda () (asdf:find-system "no-such-system-at-all")))))))

(test type-errors-are-one-sentence
  (is (string= "The value 42 is not of type LIST."
               (message-text (condition-of (lambda () (car (opaque 42)))))))
  (is (string= "The value 1 is not of type LIST."
               (type-error-text "The value 1 is not of type LIST when binding SB-KERNEL::X")))
  (is (string= "The value 1 is not of type LIST when binding ITEM."
               (type-error-text "The value 1 is not of type LIST when binding ITEM"))))

(test type-errors-stand-on-one-line
  (flet ((message (control)
           (message-text (make-condition 'simple-type-error
                                         :datum 1 :expected-type 'list :format-control control
                                         :format-arguments (list (format nil "a~%  b"))))))
    (is (string= "in a b here" (message "in ~A here")))
    (is (string= (format nil "mine~%a~%  b") (message "mine~%~A")))))

(test standard-types-have-no-prefix
  (let ((*package* (find-package :keyword)))
    (is (string= "SIMPLE-ERROR" (type-text (condition-of (lambda () (error "x"))))))))

(test the-users-own-line-breaks-stay
  (is (string= (format nil "a~%  b") (message-text (condition-of (lambda () (error "a~%  b")))))))

(test an-escape-comes-back-with-values-or-a-failure
  (is (equal '(1 2) (call-with-escape (lambda () (values 1 2)))))
  (let ((failure (nth-value 1 (call-with-escape (lambda () (abort))))))
    (is (string= "ABORTED" (failure-type failure)))))

(test frames-belong-to-the-function-they-are-part-of
  (is (eq 'foo (frame-symbol 'foo)))
  (is (eq 'foo (frame-symbol '(setf foo))))
  (is (eq 'foo (frame-symbol '(flet bar :in foo))))
  (is (eq 'foo (frame-symbol '(lambda (x) :in (flet bar :in foo)))))
  (is (null (frame-symbol '(lambda (x))))))

(test frames-inside-lisp-are-hidden
  (dolist (name '((sb-vm::optimized-data-vector-ref character) (flet inner :in some)
                  (labels sb-impl::map1) (sb-pcl::emf initialize-instance) sb-impl::map1))
    (is-true (hidden-frame-p name)))
  (dolist (name '((:method area (t)) (flet inner :in area) (labels helper) area car))
    (is-false (hidden-frame-p name))))

(test standard-functions-called-by-lisp-itself-are-inside
  (flet ((inside (symbol &rest callers) (inside-call-p symbol '(3) callers)))
    (is-true (inside 'nthcdr '(nth -1 (1 2))))
    (is-true (inside 'length '(sb-kernel:%concatenate-to-string 3) '(area 3)))
    (is-false (inside 'length '(area 3)))
    (is-false (inside 'length '((lambda (x)) 3)))
    (is-false (inside 'length `(sb-impl::map1 ,#'length (3)) '(mapcar)))
    (is-false (inside 'length '(mapcar length (3))))
    (is-false (inside 'length '(eval (length 3))))))

(test forms-that-macros-made-are-not-the-users
  (is-true (written-form-p '(area 1)))
  (is-false (written-form-p '(setq *package* (sb-int:find-undeleted-package-or-lose "X"))))
  (is-false (written-form-p '(function area))))

;;; Warnings

(defun shown (notes &key failure assigned)
  (warning-texts (make-recorder :notes (reverse notes) :assigned assigned) failure))

(defun undefined (kind name)
  (make-note :type "WARNING" :text (format nil "undefined ~A" name) :kind kind :name name))

(test warnings-are-told-once-and-in-order
  (is (equal '("WARNING: b" "WARNING: a")
             (let ((*recorder* (make-recorder)))
               (record "WARNING" "b")
               (record "WARNING" "a")
               (record "WARNING" "b")
               (warning-texts *recorder* nil)))))

(test warnings-beyond-those-recorded-are-counted
  (let ((*recorder* (make-recorder)))
    (dotimes (i (+ +notes-limit+ 500))
      (record-warning (make-condition 'simple-warning :format-control "~D"
                                                      :format-arguments (list i))))
    (is (= +notes-limit+ (length (recorder-notes *recorder*))))
    (is (search "1400 more" (first (last (warning-texts *recorder* nil)))))))

(test warnings-the-contract-leaves-out
  (is (null (shown (list (undefined :variable 'x)) :assigned '(x))))
  (is (= 1 (length (shown (list (undefined :function 'x)) :assigned '(x)))))
  (let ((failure (make-failure :condition (make-condition 'undefined-function :name 'foo))))
    (is (null (shown (list (undefined :function 'foo)) :failure failure)))
    (is (= 1 (length (shown (list (undefined :function 'bar)) :failure failure))))))

(test the-number-of-warnings-is-bounded
  (let ((texts (shown (loop for i below 150
                            collect (make-note :type "WARNING" :text (princ-to-string i))))))
    (is (= 101 (length texts)))
    (is (search "50 more" (first (last texts))))))

(test top-level-assignments-are-noted-however-they-are-wrapped
  (let ((*recorder* (make-recorder)))
    (mapc #'note-form '((setf a 1 b 2) (progn (setq c 1)) (eval-when (:execute) (psetq d 1))
                        (multiple-value-setq (e f) (floor 1 2)) (let () (setf z 1)) (setf (car y) 1)))
    (is (null (set-exclusive-or '(a b c d e f) (recorder-assigned *recorder*))))))

(test odd-forms-do-not-disturb-the-noting
  (let ((*recorder* (make-recorder)))
    (mapc #'note-form (list 1 "a" 'x '(progn . 1) '(setf . x) '(setf x) '(defun) '((lambda (x) x) 1)
                            '(defstruct (named-struct :conc-name)) '(multiple-value-setq 3 4)
                            (let ((circle (list 'progn 1))) (setf (cddr circle) circle) circle)))
    (is (mentioned-p 'named-struct))))

;;; Definitions

(test definitions-read-as-the-contract-shows-them
  (flet ((line (kind name object)
           (definition-line (make-definition :kind kind :name name :object object))))
    (let ((*package* #.*package*))
      (eval '(progn (defun square (x) (* x x))
                    (defmacro with-timing (&body body) `(progn ,@body))
                    (defvar *counter* 0)
                    (defvar *nothing*)
                    (defstruct pt x)))
      (is (string= "SQUARE (X)" (line :function 'square (fdefinition 'square))))
      (is (string= "WITH-TIMING (&BODY BODY)"
                   (line :macro 'with-timing (macro-function 'with-timing))))
      (is (string= "*COUNTER* = 0" (line :variable '*counter* '*counter*)))
      (is (string= "*NOTHING* (unbound)" (line :variable '*nothing* '*nothing*)))
      (is (string= "PT [structure]" (line :class 'pt (find-class 'pt)))))))

;;; What is evaluated again

(test definitions-are-told-by-their-look
  (dolist (form '((defun f () 1) (defclass c () ()) (deftest-of-mine a) (in-package :cl-user)
                  (declaim (inline f)) (require :sb-posix) (asdf:load-system "a") (quickload "a")
                  (setf (fdefinition 'f) #'car) (setf x 1 (get 'a 'b) 2) (setf *readtable* nil)
                  (progn 1 (defvar *a*)) (eval-when (:execute) (defvar *a*))
                  (let ((x 1)) (defun f () x)) (labels () (locally (when t (defvar *a*))))
                  (macrolet ((defme () 1)) (defme))))
    (is-true (defining-form-p form) "~S" form))
  (dolist (form '((+ 1 2) x "defun" (trace f) (setf x 1) (setq x 1) (list (defun f () 1)) (progn)
                  (let ((default 1) (defun 2)) default) (when (defined-p) 1) (quote (defun f ()))
                  (default-value 1)))
    (is-false (flet ((known (name) (setf (fdefinition name) #'list)))
                (mapc #'known '(default-value defined-p))
                (defining-form-p form))
              "~S" form)))

(test odd-forms-do-not-disturb-the-looking
  (dolist (text '("(progn . 1)" "(setf . 1)" "(setf (get . 1) . 2)" "(let)" "(let . x)" "(nil)"
                  "((lambda () 1))" "#1=(progn . #1#)" "#1=(progn #1# #1#)" "#1=(setf a . #1#)"
                  "#1=(let . #1#)" "(#1=#:nobody)"))
    (let ((form (read-from-string text)))
      (finishes (defining-form-p form)))))

;;; Reading and loading

(test positions-are-lines-and-columns
  (let ((text (format nil "ab~%cd~%")))
    (is (equal '(1 1) (multiple-value-list (line-and-column text 0))))
    (is (equal '(2 2) (multiple-value-list (line-and-column text 4))))
    (is (equal '(3 1) (multiple-value-list (line-and-column text 99))))))

(test a-form-starts-behind-white-space-and-comments
  (is (= 12 (form-start (format nil "  ; one~% ;~% (a)") 0)))
  (is (= 3 (form-start "   " 0))))

(test system-names-may-be-written-as-lisp-writes-them
  (dolist (text '("alexandria" " ALEXANDRIA " ":alexandria" ":Alexandria"))
    (is (string= "alexandria" (system-name-of text)))))

(test progress-is-not-told
  (is (equal '("To load \"a\":" "; Loading \"a\"")
             (telling-lines (format nil "To load \"a\":~%~%; Loading \"a\"~%~
                                         [package a].......~%....~%====~%")))))
