;;;; A hundred thousand open parentheses.
;; reply: ^\[ERROR\] (STORAGE-CONDITION|END-OF-FILE)

(read-from-string (make-string 100000 :initial-element #\())
