;;;; A hook that signals after each collection.
;; reply: ^\[warnings\]\n.*after gc\n.*^=> NIL$

(push (lambda () (error "after gc")) sb-ext:*after-gc-hooks*)
(sb-ext:gc :full t)
nil
