;;;; Nothing is read any more but skipped.
;; reply: ^=> (T|NIL)$

(setf *read-suppress* t)
