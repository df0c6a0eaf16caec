;;;; package.lisp — the agent's one package.
;;;;
;;;; Nothing is exported and nobody uses it: user code must neither see the agent in CL-USER nor
;;;; find its symbols by accident. The image is built with the package locked.

(defpackage #:cl-mcp-agent
  (:use #:common-lisp))
