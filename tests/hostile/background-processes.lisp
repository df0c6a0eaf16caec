;;;; Programs that stay in the background, with our output in their hands.
;; reply: => NIL

(sb-ext:run-program "sh" '("-c" "setsid sh -c 'sleep 1000 & sleep 1000' & exit 0") :search t :output t)
(sb-ext:run-program "setsid" '("sleep" "1000") :search t :wait nil :output t :error t)
nil
