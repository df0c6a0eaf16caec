;;;; A value of a hundred megabytes.
;; reply: ^=> "x+
;; seconds: 60

(make-string 100000000 :initial-element #\x)
