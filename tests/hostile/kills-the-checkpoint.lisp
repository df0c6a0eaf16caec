;;;; Kills every other Lisp process of the server, but not itself.
;; reply: => NIL
;; rest: yes

(sb-ext:run-program "sh" '("-c" "for f in /proc/[0-9]*/stat; do set -- $(cat $f 2>/dev/null);
  [ \"$4\" = \"$SERVER\" ] && [ \"$1\" != \"$PPID\" ] && case $2 in '(lisp-'*) kill -9 $1;; esac; done")
  :search t :environment (cons (format nil "SERVER=~D" (sb-alien:alien-funcall (sb-alien:extern-alien "getppid" (function sb-alien:int)))) (sb-ext:posix-environ)))
nil
