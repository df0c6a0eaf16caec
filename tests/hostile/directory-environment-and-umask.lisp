;;;; Another directory, umask and environment, and the directory is gone.
;; reply: ^=> 1$

(require :sb-posix)
(eval (read-from-string "(progn (sb-posix:mkdir \"gone\" #o700) (sb-posix:chdir \"gone\") (sb-posix:rmdir \"../gone\")
  (sb-posix:umask #o777) (sb-posix:setenv \"CL_MCP_GUARD\" \"x\" 1) (sb-posix:setenv \"PATH\" \"\" 1) (sb-posix:unsetenv \"HOME\"))"))
(setf *default-pathname-defaults* #p"/nonexistent/")
1
