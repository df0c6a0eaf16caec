;;;; Unwinds to the outermost catch tag of SBCL.
;; reply: ^\[ERROR\] 

(throw 'sb-impl::toplevel-catcher nil)
