;;;; run.lisp — the unit tests of the agent, in a plain SBCL with Debian's FiveAM:
;;;;
;;;;   sbcl --noinform --non-interactive --no-sysinit --no-userinit --load tests/agent/run.lisp
;;;;
;;;; Quiet unless something fails; ends with "N passed, M failed". The exit code is 1 when a test
;;;; failed, or when there was none.

(require :asdf)

(let ((*compile-verbose* nil)
      (*standard-output* (make-broadcast-stream))
      (*error-output* (make-broadcast-stream)))
  (asdf:load-system "fiveam"))

(load (merge-pathnames "../../agent/compile.lisp" *load-truename*))
(cl-mcp-build:compile-agent)
(load (merge-pathnames "unit_test.lisp" *load-truename*))

(let* ((results (let ((fiveam:*test-dribble* nil))
                  (fiveam:run 'cl-mcp-agent-test::agent)))
       (failed (remove-if (lambda (result) (typep result 'fiveam::test-passed)) results)))
  (when failed
    (fiveam:explain! results))
  (format t "~&~D passed, ~D failed~%" (- (length results) (length failed)) (length failed))
  (finish-output)
  (uiop:quit (if (or failed (null results)) 1 0)))
