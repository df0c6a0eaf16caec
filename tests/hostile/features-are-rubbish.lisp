;;;; *features* and *modules* hold what is no feature and no module, and end in no list.
;; reply: .

(setf *modules* (list* 42 "rubbish" 43))
(setf *features* (list* 42 'rubbish "rubbish" 43))
(read-from-string "#+x 1 2")
