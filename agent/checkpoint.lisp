;;;; checkpoint.lisp — a copy of this process, frozen, that can be the session again.
;;;;
;;;; A checkpoint is a fork that waits on a socket of its own. It must be a child of the server and
;;;; not of the worker it copies, or the worker's death would take it along: so the fork forks once
;;;; more and goes, and the copy waits until the server, as subreaper, has become its parent; only
;;;; then can it ask to die with the server. It holds neither the worker's pipes nor its socket:
;;;; they would hide the worker's end from the server.
;;;;
;;;; New workers come about in the same way: the server has one process from which it takes copies
;;;; and that never runs user code, and resumes each at once, as a fresh one.

(in-package #:cl-mcp-agent)

(define-op :freeze (&key heap-limit)
  "Leave a frozen copy of this process behind, on the socket that comes with the request, unless more
than HEAP-LIMIT bytes of heap are in use."
  (let* ((link (first (receive-descriptors +control-fd+ 1)))
         (problem (cond ((null link) "No socket came with the request.")
                        ((threads-running-p) "Threads are running.")
                        ((and heap-limit (heap-problem heap-limit)))
                        (t (finish-streams)
                           (leave-copy link)))))
    (when link
      (close-descriptor link))
    (if problem
        (list :condition (list :type "NO-CHECKPOINT" :message problem))
        (list :text ""))))

(defvar *next-collection* 0
  "When, in internal real time, garbage may be collected for a checkpoint again.")

(defun heap-problem (limit)
  "What to say when more than LIMIT bytes are in use, garbage not counted; else NIL."
  (when (> (heap-in-use) limit)
    (collect-for-checkpoint)
    (let ((in-use (heap-in-use)))
      (when (> in-use limit)
        (call-with-plain-printer
         (lambda ()
           (format nil "~D MB of heap are in use, and checkpoints are made up to ~D MB, which ~
                        --checkpoint-heap raises."
                   (ceiling in-use 1048576) (floor limit 1048576))))))))

(defun collect-for-checkpoint ()
  "Collect garbage, unless it would take more than a tenth of the time, or might end the process: the
collector copies what lives, and has to find room for it."
  (let ((start (get-internal-real-time)))
    (when (and (>= start *next-collection*)
               (< (* 2 (heap-in-use)) (heap-size)))
      (collect-garbage)
      (let ((end (get-internal-real-time)))
        (setf *next-collection* (+ end (* 10 (- end start))))))))

(defun leave-copy (link)
  "Fork a frozen copy that has LINK; what went wrong, or NIL. Comes back in the worker only: the copy
leaves SERVE's present request behind when it is resumed."
  (let* ((server (parent-process-id))
         (go-between (fork-process)))
    (cond ((null go-between) "The process cannot be copied: fork failed.")
          ((plusp go-between)
           (unless (zerop (wait-for-process go-between))
             "The process cannot be copied: fork failed."))
          (t
           (let ((go-between (process-id)))
             (if (eql 0 (fork-process))
                 (be-frozen link server go-between)
                 (leave 0)))))))

(defun be-frozen (link server go-between)
  "Wait in the copy until the server says :RESUME, and go on serving."
  (name-process "lisp-frozen")
  (loop while (= (parent-process-id) go-between)
        do (yield-processor))
  (die-with-parent)
  (unless (= (parent-process-id) server)
    (leave 0))
  (lead-process-group)
  (copy-descriptor link +control-fd+)
  (close-descriptor link)
  (close-on-exec +control-fd+)
  (let-go-of-output)
  (setf *process* (process-id))
  (send (frame (list :frozen :pid (process-id))))
  (resume (next-request))
  (send-ready)
  (funcall *leave-turn*))

(defun resume (request)
  "Become the worker that REQUEST says."
  (destructuring-bind (what &key token fresh) request
    (unless (and (eq what :resume) (stringp token))
      (leave 0))
    (destructuring-bind (output error) (receive-descriptors +control-fd+ 2)
      (loop for (from to) in (list (list output 1) (list error 2))
            do (copy-descriptor from to)
               (close-descriptor from)))
    (install-streams)
    (name-process "lisp-worker")
    (set-environment "CL_MCP_WORKER" token)
    (when fresh
      (begin-session))))
