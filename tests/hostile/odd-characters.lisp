;;;; Symbols and strings of every character, surrogates and controls too.
;; reply: => 

(let ((all (coerce (loop for code from 0 below #x3000 collect (code-char code)) 'string)))
  (write-string all)
  (write-string (coerce (list (code-char #xd800) (code-char #xdfff) (code-char #xfffe) (code-char #x10ffff)) 'string))
  (list all (intern all) (make-symbol "") (intern (string (code-char 0)))
        (code-char #xd800) (make-pathname :name (string (code-char 7)))))
