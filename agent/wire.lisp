;;;; wire.lisp — frames and forms of docs/AGENT-PROTOCOL.md.
;;;;
;;;; Written by hand, without READ and PRINT, because both obey variables, readtables and methods
;;;; that belong to the user. Nothing here calls user code. A frame that cannot be cut out of the
;;;; stream leaves no way to find the next one: that is BROKEN-STREAM, and the agent leaves. A
;;;; frame whose text is wrong is MALFORMED-MESSAGE, and is answered.

(in-package #:cl-mcp-agent)

(define-condition broken-stream (error) ())

(define-condition malformed-message (error)
  ((reason :initarg :reason :reader malformed-message-reason))
  (:report (lambda (condition stream)
             (write-string (malformed-message-reason condition) stream))))

(defun malformed (reason)
  (error 'malformed-message :reason reason))

(deftype octets () '(simple-array (unsigned-byte 8) (*)))

(defun make-octets (size)
  (make-array size :element-type '(unsigned-byte 8)))

;;; The protocol's bound on a frame, either way.
(defconstant +frame-limit+ (* 64 1024 1024))
(defconstant +header-size+ 8)
(defconstant +replacement-code+ #xFFFD)
;;; Deeper nesting than any message has; keeps a hostile one from exhausting our stack.
(defconstant +nesting-limit+ 32)

(declaim (inline surrogate-p))
(defun surrogate-p (code)
  (<= #xD800 code #xDFFF))

;;; UTF-8

(defun encode-utf-8 (text &key (start 0))
  "TEXT as octets that begin at index START; what UTF-8 cannot carry becomes U+FFFD."
  (declare (type simple-string text) (type fixnum start) (optimize speed))
  (flet ((code (char)
           (let ((code (char-code char)))
             (if (surrogate-p code) +replacement-code+ code)))
         (size (code)
           (cond ((< code #x80) 1) ((< code #x800) 2) ((< code #x10000) 3) (t 4))))
    (declare (inline code size))
    (let* ((end (let ((sum start))
                  (declare (type fixnum sum))
                  (loop for char across text do (incf sum (size (code char))))
                  sum))
           (octets (make-octets end))
           (position start))
      (declare (type fixnum end position))
      (flet ((put (octet)
               (setf (aref octets position) octet)
               (incf position)))
        (declare (inline put))
        (loop for char across text
              for code of-type (unsigned-byte 21) = (code char)
              do (ecase (size code)
                   (1 (put code))
                   (2 (put (logior #xC0 (ash code -6)))
                    (put (logior #x80 (ldb (byte 6 0) code))))
                   (3 (put (logior #xE0 (ash code -12)))
                    (put (logior #x80 (ldb (byte 6 6) code)))
                    (put (logior #x80 (ldb (byte 6 0) code))))
                   (4 (put (logior #xF0 (ash code -18)))
                    (put (logior #x80 (ldb (byte 6 12) code)))
                    (put (logior #x80 (ldb (byte 6 6) code)))
                    (put (logior #x80 (ldb (byte 6 0) code)))))))
      octets)))

(defun decode-utf-8 (octets)
  "The string that OCTETS spell; anything but well-formed UTF-8 is malformed."
  (declare (type octets octets) (optimize speed))
  (let ((text (make-string (length octets)))
        (length 0)
        (position 0)
        (end (length octets)))
    (declare (type fixnum length position end))
    (labels ((bad () (malformed "The text of a frame is not UTF-8."))
             (tail ()
               (let ((octet (if (< position end) (aref octets position) (bad))))
                 (declare (type (unsigned-byte 8) octet))
                 (unless (= (ash octet -6) 2) (bad))
                 (incf position)
                 (ldb (byte 6 0) octet)))
             (sequence-of (lead tails least)
               (declare (type (unsigned-byte 8) lead) (type (integer 1 3) tails))
               (let ((code lead))
                 (declare (type (unsigned-byte 32) code))
                 (loop repeat tails do (setf code (logior (ash code 6) (tail))))
                 (when (or (< code (the fixnum least)) (surrogate-p code)
                           (>= code char-code-limit))
                   (bad))
                 code)))
      (loop while (< position end)
            do (let* ((lead (aref octets position))
                      (code (progn
                              (incf position)
                              (cond ((< lead #x80) lead)
                                    ((<= #xC0 lead #xDF) (sequence-of (logand lead #x1F) 1 #x80))
                                    ((<= #xE0 lead #xEF) (sequence-of (logand lead #x0F) 2 #x800))
                                    ((<= #xF0 lead #xF7)
                                     (sequence-of (logand lead #x07) 3 #x10000))
                                    (t (bad))))))
                 (setf (schar text length) (code-char code))
                 (incf length))))
    (subseq text 0 length)))

;;; Text to form

(defun parse-form (text)
  "The one form that TEXT spells."
  (declare (type simple-string text))
  (let ((position 0))
    (declare (type fixnum position))
    (labels ((peek ()
               (and (< position (length text)) (schar text position)))
             (next ()
               (prog1 (or (peek) (malformed "A message ends in the middle of a form."))
                 (incf position)))
             (token ()
               (let ((end (or (position-if (lambda (char) (find char " ()\"")) text
                                           :start position)
                              (length text))))
                 (prog1 (subseq text position end)
                   (setf position end))))
             (parse-string ()
               (with-output-to-string (string)
                 (loop for char = (next)
                       until (char= char #\")
                       do (write-char (if (char= char #\\) (next) char) string))))
             (parse-list (depth)
               (if (eql (peek) #\))
                   (progn (next) '())
                   (loop collect (parse depth)
                         while (separator-p (next)))))
             (separator-p (char)
               (case char
                 (#\Space t)
                 (#\) nil)
                 (t (malformed "Forms of a list are not separated by one space."))))
             (parse (depth)
               (when (> depth +nesting-limit+)
                 (malformed "A message is nested too deeply."))
               (case (peek)
                 (#\( (next) (parse-list (1+ depth)))
                 (#\" (next) (parse-string))
                 (t (parse-token (token))))))
      (let ((form (parse 0)))
        (when (peek)
          (malformed "A frame holds more than one form."))
        form))))

(defun parse-token (token)
  (cond ((string= token "nil") nil)
        ((string= token "t") t)
        ((keyword-token-p token) (intern (string-upcase (subseq token 1)) :keyword))
        ((integer-token-p token)
         (let ((integer (parse-integer token)))
           (if (typep integer '(signed-byte 64))
               integer
               (malformed "An integer does not fit 64 bits."))))
        (t (malformed "A message holds a token that is no form."))))

(defun keyword-token-p (token)
  (and (< 1 (length token) 64)
       (char= (char token 0) #\:)
       (char<= #\a (char token 1) #\z)
       (every (lambda (char)
                (or (char<= #\a char #\z) (char<= #\0 char #\9) (char= char #\-)))
              (subseq token 1))))

(defun integer-token-p (token)
  (let ((digits (string-left-trim "-" token)))
    (and (<= 1 (length digits) 20)
         (<= (- (length token) (length digits)) 1)
         (every (lambda (char) (char<= #\0 char #\9)) digits))))

;;; Form to text

(defun write-form (form stream)
  "Write FORM, made of lists, strings, integers, keywords, T and NIL, to STREAM. A vector is written
as a list too, so that an empty list, #(), can be told from NIL."
  (etypecase form
    (null (write-string "nil" stream))
    ((eql t) (write-string "t" stream))
    (string (write-quoted form stream))
    (keyword (write-char #\: stream) (write-string (string-downcase form) stream))
    ((signed-byte 64) (write-decimal form stream))
    (cons (loop for separator = #\( then #\Space
                for element in form
                do (write-char separator stream)
                   (write-form element stream))
     (write-char #\) stream))
    (vector (if (plusp (length form))
                (write-form (coerce form 'list) stream)
                (write-string "()" stream)))))

(defun write-quoted (string stream)
  (write-char #\" stream)
  (loop for start = 0 then (1+ special)
        for special = (position-if (lambda (char) (or (char= char #\") (char= char #\\))) string
                                   :start start)
        do (write-string string stream :start start :end special)
        while special
        do (write-char #\\ stream)
           (write-char (char string special) stream))
  (write-char #\" stream))

(defun write-decimal (integer stream)
  (when (minusp integer)
    (write-char #\- stream))
  (labels ((digits (n)
             (multiple-value-bind (rest digit) (truncate n 10)
               (unless (zerop rest) (digits rest))
               (write-char (code-char (+ digit (char-code #\0))) stream))))
    (digits (abs integer))))

;;; Frames

(defun frame (form)
  "FORM as one frame."
  (let* ((text (with-output-to-string (stream) (write-form form stream)))
         (octets (encode-utf-8 (coerce text 'simple-string) :start +header-size+))
         (size (- (length octets) +header-size+)))
    (when (> size +frame-limit+)
      (malformed "A message is larger than a frame may be."))
    (loop for index below +header-size+
          for digit = (ldb (byte 4 (* 4 (- +header-size+ 1 index))) size)
          do (setf (aref octets index)
                   (char-code (char "0123456789abcdef" digit))))
    octets))

(defun frame-size (header)
  "The length that the eight octets of HEADER announce."
  (let ((size 0))
    (loop for octet across header
          for digit = (position octet #.(map 'vector #'char-code "0123456789abcdef"))
          do (unless digit (error 'broken-stream))
             (setf size (+ (* 16 size) digit)))
    (when (> size +frame-limit+)
      (error 'broken-stream))
    size))

(defun receive (read-octets)
  "The next form, or :END-OF-STREAM. READ-OCTETS fills what it can of (octets start) and answers
how much, 0 at the end."
  (flet ((fill-octets (octets)
           (let ((filled 0))
             (loop while (< filled (length octets))
                   do (let ((count (funcall read-octets octets filled)))
                        (when (zerop count)
                          (return-from receive :end-of-stream))
                        (incf filled count)))
             octets)))
    (let ((size (frame-size (fill-octets (make-octets +header-size+)))))
      (parse-form (decode-utf-8 (fill-octets (make-octets size)))))))
