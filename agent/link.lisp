;;;; link.lisp — frames over the control socket.

(in-package #:cl-mcp-agent)

(defconstant +control-fd+ 3)

(defvar *process* 0
  "Our own number. A copy that user code forked has another, and nobody to answer to.")

(defvar *leave-turn* nil
  "Function that leaves the request that is being answered without an answer.")

(defun send (octets)
  "Hand a frame to the server; when it is gone, so are we."
  (unless (and (= *process* (process-id))
               (write-octets +control-fd+ octets))
    (leave 0)))

(defun next-request ()
  "The next request; when the server is gone, so are we."
  (let ((request (receive (lambda (octets start) (read-octets +control-fd+ octets start)))))
    (if (eq request :end-of-stream)
        (leave 0)
        request)))
