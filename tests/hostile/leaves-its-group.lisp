;;;; A session and process group of its own, and no wish to die with the server.
;; reply: ^=> 1$

(flet ((call (name &rest arguments)
         (eval `(sb-alien:alien-funcall
                 (sb-alien:extern-alien ,name (function sb-alien:int ,@(mapcar (constantly 'sb-alien:int) arguments)))
                 ,@arguments))))
  (call "prctl" 1 0)
  (call "setpgid" 0 (call "getppid"))
  (call "setsid"))
1
