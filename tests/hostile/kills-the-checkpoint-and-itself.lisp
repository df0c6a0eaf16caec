;;;; Kills every checkpoint and then exits: what was defined is made again, and that is said.
;; reply: LISP-PROCESS-ENDED
;; reply: exited with code 3
;; reply: Replayed, 1 definition: \(defvar \*keep\* 41\)\.

(sb-ext:run-program "sh" '("-c" "for f in /proc/[0-9]*/stat; do set -- $(cat $f 2>/dev/null);
  [ \"$4\" = \"$SERVER\" ] && [ \"$1\" != \"$PPID\" ] && case $2 in '(lisp-'*) kill -9 $1;; esac; done")
  :search t :environment (cons (format nil "SERVER=~D" (sb-alien:alien-funcall (sb-alien:extern-alien "getppid" (function sb-alien:int)))) (sb-ext:posix-environ)))
(sleep 0.1)
(sb-ext:exit :code 3 :abort t)
