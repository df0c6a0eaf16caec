;;;; build.lisp — make the worker image:
;;;;
;;;;   CL_MCP_WORKER_IMAGE=PATH sbcl --noinform --non-interactive --no-sysinit --no-userinit \
;;;;     --load agent/build.lisp
;;;;
;;;; PATH may be the last command line argument instead. agent/ and HOME may be read-only. Standard
;;;; output stays empty; what goes wrong is said on standard error, with an exit code that is not 0.
;;;; The caller renames the image into place once this has succeeded.

(load (merge-pathnames "compile.lisp" *load-truename*))

(cl-mcp-build:build)
