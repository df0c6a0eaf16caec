;;;; Unwinds to the catch tag of the agent's own loop.
;; reply: ^(\[ERROR\] |=> )

(throw (or (find-symbol "RESUMED" "CL-MCP-AGENT") 'nowhere) nil)
