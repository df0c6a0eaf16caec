;;;; The agent's operations are gone.
;; reply: ^=> 1$
;; state: later

(ignore-errors (setf (symbol-value (find-symbol "*OPERATIONS*" "CL-MCP-AGENT")) '()))
1
