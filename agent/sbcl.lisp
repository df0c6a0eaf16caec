;;;; sbcl.lisp — everything that only SBCL knows: every `sb-` symbol of the agent is in this file.
;;;;
;;;; The rest of the agent calls these functions by our own names, so a second implementation is
;;;; one more file. Internals that changed between SBCL versions are looked up by name, and their
;;;; absence is survived wherever that only costs comfort.

(in-package #:cl-mcp-agent)

(defun internal (package name)
  "The symbol NAME of PACKAGE, or NIL where this SBCL has none."
  (and (find-package package) (find-symbol name package)))

(defun call-internal (package name &rest arguments)
  "What the internal function returns, or NIL where this SBCL has no such function."
  (let ((symbol (internal package name)))
    (and symbol (fboundp symbol) (apply symbol arguments))))

;;; Descriptors and the process

(defconstant +eintr+ 4)

(defun read-octets (fd octets start)
  "Read from FD into OCTETS from START on; the number of octets read, 0 at the end or on failure."
  (declare (type octets octets) (type fixnum start))
  (loop
    (multiple-value-bind (count errno)
        (sb-sys:with-pinned-objects (octets)
          (sb-unix:unix-read fd (sb-sys:sap+ (sb-sys:vector-sap octets) start)
                             (- (length octets) start)))
      (cond (count (return count))
            ((/= errno +eintr+) (return 0))))))

(defun write-octets (fd octets)
  "Write all of OCTETS to FD; false when nobody can read them any more."
  (declare (type octets octets))
  (let ((start 0))
    (declare (type fixnum start))
    (loop while (< start (length octets))
          do (multiple-value-bind (count errno)
                 (sb-sys:with-pinned-objects (octets)
                   (sb-unix:unix-write fd octets start (- (length octets) start)))
               (cond (count (incf start count))
                     ((/= errno +eintr+) (return-from write-octets nil)))))
    t))

(defun readable-p (fd)
  "True when a read of FD would not wait."
  (sb-unix:unix-simple-poll fd :input 0))

(defmacro c-call (name &rest arguments)
  "Call the C function NAME, which returns an int, with ARGUMENTS: integers, or (STRING value)."
  `(sb-alien:alien-funcall
    (sb-alien:extern-alien
     ,name (function sb-alien:int ,@(loop for argument in arguments
                                          collect (if (consp argument)
                                                      'sb-alien:c-string
                                                      'sb-alien:int))))
    ,@(loop for argument in arguments
            collect (if (consp argument) (second argument) argument))))

(defun close-on-exec (fd)
  (c-call "fcntl" fd 2 1))              ; F_SETFD, FD_CLOEXEC

(defun spare-descriptor (fd)
  "A copy of FD, out of the way, that child processes do not get."
  (c-call "fcntl" fd 1030 10))          ; F_DUPFD_CLOEXEC

(defun copy-descriptor (from to)
  (c-call "dup2" from to))

(defun writable-directory-p (path)
  (zerop (c-call "access" (string path) 2))) ; W_OK

(defun private-directory (path)
  "Make PATH a directory that only this user can write; false when somebody else has it."
  (sb-unix:unix-mkdir path #o700)
  (multiple-value-bind (found device inode mode links uid) (sb-unix:unix-stat path)
    (declare (ignore device inode links))
    (and found (= uid (sb-unix:unix-getuid)) (zerop (logand mode #o022)))))

(defun user-id ()
  (sb-unix:unix-getuid))

(defun leave (code)
  "End the process now: no unwinding, no exit hooks, no flushing."
  (sb-ext:exit :code code :abort t))

(defun call-with-file-lock (path function)
  "Call FUNCTION while this process alone holds the lock file PATH. The kernel drops the lock with
the process, so there are no stale ones. Where the file cannot be opened, go on without."
  (let ((fd (sb-unix:unix-open path (logior sb-unix:o_rdwr sb-unix:o_creat) #o666)))
    (unwind-protect
         (progn
           (when fd
             (close-on-exec fd)
             ;; LOCK_EX waits; a signal may wake it up early.
             (loop repeat 100
                   until (zerop (c-call "flock" fd 2))))
           (funcall function))
      (when fd (sb-unix:unix-close fd)))))

(defun make-output-stream (fd)
  (sb-sys:make-fd-stream fd :output t :buffering :line :name (format nil "descriptor ~D" fd)
                            :external-format '(:utf-8 :replacement #\ufffd)))

;;; The streams that SBCL itself writes to, and flushes when it exits.
(defun stdout-variable () 'sb-sys:*stdout*)
(defun stderr-variable () 'sb-sys:*stderr*)
(defun stderr () sb-sys:*stderr*)

(defun set-global (symbol value)
  "Set what threads see of SYMBOL, whatever is bound here."
  (setf (sb-ext:symbol-global-value symbol) value))

;;; Processes

(macrolet ((define-call (name c-name result (&rest parameters) documentation)
             `(defun ,name ,(mapcar #'first parameters)
                ,documentation
                (sb-alien:alien-funcall
                 (sb-alien:extern-alien ,c-name (function ,result ,@(mapcar #'second parameters)))
                 ,@(mapcar #'first parameters)))))
  (define-call process-id "getpid" sb-alien:int () "Our own number.")
  (define-call parent-process-id "getppid" sb-alien:int () "Our parent's number.")
  (define-call close-descriptor "close" sb-alien:int ((fd sb-alien:int)) "Close FD.")
  (define-call yield-processor "sched_yield" sb-alien:int () "Let others run.")
  (define-call %fork "fork" sb-alien:int () "As fork(2).")
  (define-call %setpgid "setpgid" sb-alien:int ((pid sb-alien:int) (group sb-alien:int))
    "As setpgid(2).")
  (define-call %prctl "prctl" sb-alien:int ((option sb-alien:int) (value sb-alien:unsigned-long))
    "As prctl(2).")
  (define-call %open "open" sb-alien:int ((path sb-alien:c-string) (flags sb-alien:int))
    "As open(2).")
  (define-call %getenv "getenv" sb-sys:system-area-pointer ((name sb-alien:c-string))
    "As getenv(3).")
  (define-call %setenv "setenv" sb-alien:int
      ((name sb-alien:c-string) (value sb-alien:c-string) (overwrite sb-alien:int))
    "As setenv(3).")
  (define-call %strlen "strlen" sb-alien:unsigned-long ((string sb-sys:system-area-pointer))
    "As strlen(3).")
  (define-call %waitpid "waitpid" sb-alien:int
      ((pid sb-alien:int) (status (* sb-alien:int)) (options sb-alien:int))
    "As waitpid(2).")
  (define-call %recvmsg "recvmsg" sb-alien:long
      ((fd sb-alien:int) (message sb-sys:system-area-pointer) (flags sb-alien:int))
    "As recvmsg(2)."))

(defun fork-process ()
  "0 in the copy, its number in the original; NIL where there can be no copy."
  (let ((pid (sb-sys:without-interrupts (%fork))))
    (if (minusp pid) nil pid)))

(defun wait-for-process (pid)
  "The exit status of the child PID."
  (sb-alien:with-alien ((status sb-alien:int 0))
    (loop while (minusp (%waitpid pid (sb-alien:addr status) 0))
          while (= (sb-alien:get-errno) +eintr+))
    status))

(defun die-with-parent ()
  "Have the kernel kill us when our parent ends."
  (%prctl 1 9))                         ; PR_SET_PDEATHSIG, SIGKILL

(defun lead-process-group ()
  (%setpgid 0 0))

(defun name-process (name)
  "Let ps(1) show us under NAME, of at most 15 characters."
  (sb-alien:alien-funcall
   (sb-alien:extern-alien "prctl" (function sb-alien:int sb-alien:int sb-alien:c-string))
   15 name))                            ; PR_SET_NAME

(defun set-environment (name value)
  "Set the environment variable NAME, for us and for the programs we run. A value of the same length
is written over the old one, where the kernel looks: so /proc shows the new one, of this process and
of copies that user code forks."
  (let ((old (%getenv name)))
    (if (and (/= 0 (sb-sys:sap-int old)) (= (%strlen old) (length value)))
        (loop for char across value
              for index from 0
              do (setf (sb-sys:sap-ref-8 old index) (char-code char)))
        (%setenv name value 1))))

(defun raised (fd)
  "FD moved out of the way of the standard ones: where user code closed one of those, the next that
is opened gets its number."
  (prog1 (spare-descriptor fd)
    (close-descriptor fd)))

(defun open-null-device ()
  (raised (%open "/dev/null" 2)))       ; O_RDWR

(defun threads-running-p ()
  (rest (sb-thread:list-all-threads)))

(defun receive-descriptors (fd count)
  "The COUNT descriptors that come with the next octet on FD, or NIL. Only recvmsg(2) can take them;
what is laid out here are Linux's struct msghdr, iovec and cmsghdr of a 64-bit machine."
  (let* ((size (+ 16 (* 4 count)))
         (room (make-octets (+ 56 16 8 (* 8 (ceiling size 8))))))
    (sb-sys:with-pinned-objects (room)
      (let* ((message (sb-sys:vector-sap room))
             (vector (sb-sys:sap+ message 56))
             (data (sb-sys:sap+ message 72))
             (control (sb-sys:sap+ message 80)))
        (setf (sb-sys:sap-ref-sap vector 0) data
              (sb-sys:sap-ref-64 vector 8) 1
              (sb-sys:sap-ref-sap message 16) vector
              (sb-sys:sap-ref-64 message 24) 1
              (sb-sys:sap-ref-sap message 32) control
              (sb-sys:sap-ref-64 message 40) (* 8 (ceiling size 8)))
        (when (and (= 1 (loop for got = (%recvmsg fd message #x40000000) ; MSG_CMSG_CLOEXEC
                              while (and (minusp got) (= (sb-alien:get-errno) +eintr+))
                              finally (return got)))
                   (= size (sb-sys:sap-ref-64 control 0)))
          (loop for index below count
                collect (raised (sb-sys:signed-sap-ref-32 control (+ 16 (* 4 index))))))))))

;;; Start of a worker

(defvar *lisp-home* nil
  "Where SBCL's contributed modules were when the image was made: an executable image that lies
elsewhere could not find them by itself.")

(defun remember-lisp-home ()
  (setf *lisp-home* (sb-int:sbcl-homedir-pathname)))

(defun restore-lisp-home ()
  (let ((variable (internal "SB-SYS" "*SBCL-HOMEDIR-PATHNAME*")))
    (when (and variable *lisp-home*)
      (setf (symbol-value variable) *lisp-home*))))

(defun encapsulate (name function)
  "Let FUNCTION, called with the original and its arguments, stand before the function NAME."
  (when (and name (fboundp name))
    (sb-int:encapsulate name 'cl-mcp-agent function)))

(defun keep-helper-threads-away ()
  "Only a process with a single thread can fork: stop SBCL's finalizer thread for good. Whoever else
stops and starts it, as SB-POSIX:FORK does, finds nothing to do."
  (call-internal "SB-IMPL" "FINALIZER-THREAD-STOP")
  (encapsulate (internal "SB-IMPL" "FINALIZER-THREAD-STOP") (constantly nil))
  (encapsulate (internal "SB-IMPL" "FINALIZER-THREAD-START") (constantly nil)))

(defun run-finalizers ()
  "Do the finalizer thread's work, which nobody else would."
  (call-internal "SB-KERNEL" "RUN-PENDING-FINALIZERS"))

(defun silence-compiler ()
  "End the compiler's own talk, in every thread. Its conditions are signalled all the same, and
COMPILE and COMPILE-FILE still answer whether there were any: muffling them would end that."
  (encapsulate (internal "SB-C" "PRINT-COMPILER-MESSAGE") (constantly nil))
  (encapsulate (internal "SB-C" "SUMMARIZE-COMPILATION-UNIT")
               (lambda (original &rest arguments)
                 (let ((*error-output* (make-broadcast-stream)))
                   (call-with-plain-printer (lambda () (apply original arguments)))))))

(defun replace-debugger (function)
  "Call FUNCTION with the condition wherever SBCL would enter its debugger, after the hooks that the
user may have set."
  (sb-ext:enable-debugger)              ; the build's command line disabled it, by a hook
  (encapsulate 'invoke-debugger
               (lambda (original condition)
                 (declare (ignore original))
                 (dolist (variable '(sb-ext:*invoke-debugger-hook* *debugger-hook*))
                   (let ((hook (symbol-value variable)))
                     (when hook
                       (progv (list variable) '(nil)
                         (funcall hook condition hook)))))
                 (funcall function condition))))

(defun call-without-debugger-hooks (function)
  (let ((sb-ext:*invoke-debugger-hook* nil)
        (*debugger-hook* nil))
    (funcall function)))

(defun main-thread-p ()
  (eq sb-thread:*current-thread* (sb-thread:main-thread)))

(defun end-thread () (sb-thread:abort-thread))

(defun signal-number (info)
  "The number that the sender gave to sigqueue(3), or NIL when the signal came another way. INFO is
Linux's siginfo_t of a 64-bit machine."
  (let ((info (if (sb-sys:system-area-pointer-p info) info (sb-alien:alien-sap info))))
    (when (= (sb-sys:signed-sap-ref-32 info 8) -1) ; SI_QUEUE
      (sb-sys:signed-sap-ref-32 info 24))))

(defun install-signal-handlers (on-interrupt)
  "SIGINT calls ON-INTERRUPT in the main thread, whichever thread it hit, with the number that came
with the signal. SIGTERM ends the process. SIGPIPE does nothing, through a handler: an ignored
signal would stay ignored in the user's child processes."
  (sb-sys:enable-interrupt sb-unix:sigint
                           (lambda (signal info context)
                             (declare (ignore signal context))
                             (let ((number (signal-number info)))
                               (sb-thread:interrupt-thread
                                (sb-thread:main-thread)
                                (lambda () (funcall on-interrupt number))))))
  (sb-sys:enable-interrupt sb-unix:sigpipe (lambda (signal info context)
                                             (declare (ignore signal info context))))
  (sb-sys:enable-interrupt sb-unix:sigterm :default))

(defun call-with-timer (seconds on-time function)
  "Call FUNCTION; ON-TIME is called in this thread after SECONDS and, in case it was not enough,
again and again after as long. No thread is made, and the user's own timers are left alone."
  (let ((timer (sb-ext:make-timer on-time :thread sb-thread:*current-thread*)))
    (unwind-protect
         (progn
           (sb-ext:schedule-timer timer seconds :repeat-interval seconds)
           (funcall function))
      (sb-sys:without-interrupts
        (sb-ext:unschedule-timer timer)))))

(defmacro with-interrupts-allowed (&body body)
  `(sb-sys:with-interrupts ,@body))

(defun call-without-handlers (function)
  "Call FUNCTION free of the handlers of whoever called us: LOAD's would comment on its errors."
  (let* ((initial (internal "SB-KERNEL" "**INITIAL-HANDLER-CLUSTERS**"))
         (sb-kernel:*handler-clusters* (and initial (symbol-value initial))))
    (funcall function)))

(defun lock-agent-package () (sb-ext:lock-package '#:cl-mcp-agent))

(defun save-image (path toplevel)
  "Save this process to PATH, as a program that starts with TOPLEVEL. SBCL replaces whatever PATH
names, a device too, so anything but a file is refused; and it may talk on standard output, which is
the caller's."
  (multiple-value-bind (found device inode mode) (sb-unix:unix-stat path)
    (declare (ignore device inode))
    (when (and found (/= (logand mode #o170000) #o100000))
      (format *error-output* "~&~A is not a file: the image is not saved there.~%" path)
      (leave 1)))
  (copy-descriptor 2 1)
  (sb-ext:save-lisp-and-die path :toplevel toplevel :executable t))

(defun collect-garbage ()
  "Without the user's hooks, which may do anything."
  (let ((hooks (shiftf sb-ext:*after-gc-hooks* '()))) ; it cannot be bound
    (unwind-protect (sb-ext:gc :full t)
      (setf sb-ext:*after-gc-hooks* hooks))))

(defun heap-in-use () (sb-kernel:dynamic-usage))
(defun heap-size () (sb-ext:dynamic-space-size))

;;; Conditions

(defun class-precedence-names (class)
  (mapcar #'class-name (sb-mop:class-precedence-list class)))

(deftype compiler-error () 'sb-c:compiler-error)
(deftype redefinition () 'sb-kernel:redefinition-warning)
(deftype compiled-program-error () 'sb-int:compiled-program-error)

(defun package-missing-p (name)
  "True for the class that SBCL has beside PACKAGE-ERROR, which the contract does not know."
  (eq name (internal "SB-EXT" "PACKAGE-DOES-NOT-EXIST")))

(defun compiling-p ()
  "True while the compiler runs: it then takes care of the warnings it passes on."
  (let ((compilation (internal "SB-C" "*COMPILATION*")))
    (and compilation (boundp compilation))))

(defun compiled-program-error-text (condition)
  "What the compiler had against the code whose execution is CONDITION."
  (or (call-internal "SB-KERNEL" "PROGRAM-ERROR-MESSAGE" condition) (princ-to-string condition)))

(defun control-string (control)
  "The string that CONTROL, a format control, was made of; \"\" where that is not known."
  (if (stringp control)
      control
      (or (call-internal "SB-FORMAT" "FMT-CONTROL-STRING" control) "")))

(defun undefined-reference (warning)
  "Kind (:FUNCTION, :VARIABLE or :TYPE) and name when WARNING is the compiler's about an undefined
name; :MORE instead of a name when it only counts further uses."
  (when (typep warning 'simple-condition)
    (let* ((arguments (simple-condition-format-arguments warning))
           (kind (find-if (lambda (argument) (member argument '(:function :variable :type)))
                          arguments))
           (control (control-string (simple-condition-format-control warning))))
      (when (and kind (search "undefined ~(" control))
        (values kind (if (eq kind (first arguments)) (second arguments) :more))))))

(defun redefined-object (redefinition)
  "The object whose place REDEFINITION says is being taken, as the baseline knows it."
  (if (typep redefinition 'sb-kernel:redefinition-with-defmethod)
      (call-internal "SB-KERNEL" "REDEFINITION-WITH-DEFMETHOD-OLD-METHOD" redefinition)
      (function-object (call-internal "SB-KERNEL" "REDEFINITION-WARNING-NAME" redefinition))))

(defun call-without-references (function)
  "Call FUNCTION with condition reports free of pointers into SBCL's manual."
  (let ((sb-int:*print-condition-references* nil))
    (funcall function)))

(defun source-place ()
  "File and position, in characters, of the top-level form that COMPILE-FILE is at."
  (ignore-errors
   (let ((context (call-internal "SB-C" "FIND-ERROR-CONTEXT" nil)))
     (when context
       (values (call-internal "SB-C" "COMPILER-ERROR-CONTEXT-FILE-NAME" context)
               (call-internal "SB-C" "COMPILER-ERROR-CONTEXT-FILE-POSITION" context))))))

(let ((method (find-method #'print-object '() (mapcar #'find-class '(condition t)))))
  (defun write-report (condition stream)
    "Report CONDITION as it would be without the user's methods."
    (funcall (sb-mop:method-function method) (list condition stream) '())))

(defun simple-reader-error-text (condition)
  "The reason that a reader error gives, without SBCL's lines about stream and position."
  (when (typep condition 'sb-int:simple-reader-error)
    (apply #'format nil (simple-condition-format-control condition)
           (simple-condition-format-arguments condition))))

(defun inner-condition (condition)
  "The condition that SBCL wrapped into CONDITION, if it did."
  (and (typep condition 'sb-int:encapsulated-condition)
       (call-internal "SB-INT" "ENCAPSULATED-CONDITION" condition)))

(defun file-read-error (condition)
  "When CONDITION is that LOAD or COMPILE-FILE could not read a form: the reader's condition, the
file, line and column, from 1."
  (let ((wrapper (if (typep condition 'compiler-error) (inner-condition condition) condition))
        (class (internal "SB-C" "INPUT-ERROR-IN-COMPILE-FILE")))
    (when (and class (typep wrapper class))
      (let* ((stream (stream-error-stream wrapper))
             (place (call-internal "SB-C" "INPUT-ERROR-IN-COMPILE-FILE-LINE/COL" wrapper))
             (info (call-internal "SB-INT" "STREAM-ERROR-POSITION-INFO" stream))
             (line (if place (car place) (second (assoc :line info))))
             (column (if place (cdr place) (second (assoc :column info)))))
        (values (inner-condition wrapper)
                (ignore-errors (namestring (pathname stream)))
                line
                (and column (1+ column)))))))

(defvar *implementation-packages*
  (remove-if-not (lambda (package) (eql 0 (search "SB-" (package-name package))))
                 (list-all-packages))
  "The packages SBCL is made of; its contributed modules are loaded later, and are libraries.")

(defparameter *public-packages*
  '("SB-EXT" "SB-THREAD" "SB-ALIEN" "SB-GRAY" "SB-MOP" "SB-PROFILE" "SB-DEBUG")
  "Those of them whose external symbols programmers write.")

(defun implementation-symbol-p (symbol)
  "True when SYMBOL is part of how SBCL is made, not something a programmer writes."
  (let ((package (symbol-package symbol)))
    (and (member package *implementation-packages*)
         (not (and (member (package-name package) *public-packages* :test #'string=)
                   (eq (nth-value 1 (find-symbol (symbol-name symbol) package)) :external))))))

;;; The stack

(defun map-frames (function &key (arguments t))
  "Call FUNCTION with the name and the arguments of each frame, innermost first, until it is true.
Without ARGUMENTS none is touched and NIL is given: that takes little stack."
  (loop for frame = (sb-di:top-frame) then (sb-di:frame-down frame)
        while frame
        until (multiple-value-call function
                (if arguments
                    (call-internal "SB-DEBUG" "FRAME-CALL" frame)
                    (values (sb-di:debug-fun-name (sb-di:frame-debug-fun frame)) nil)))))

(defun evaluator-frame-p (name)
  (or (eq name 'eval)
      (and (symbolp name)
           (member (symbol-package name) *implementation-packages*)
           (search "EVAL" (symbol-name name)))))

(defun library-symbol-p (symbol)
  "True when SYMBOL came with Lisp, for programmers or not."
  (or (standard-name-p symbol)
      (member (symbol-package symbol) *implementation-packages*)))

(defun implementation-part-p (name)
  "True when NAME is that of a function inside one of Lisp's own, or is made up by SBCL for other
functions than the methods that programmers write."
  (when (and (consp name) (symbolp (first name)))
    (let ((owner (second (member :in name))))
      (or (and owner (symbolp owner) (library-symbol-p owner))
          (and (member (first name) '(flet labels))
               (symbolp (second name))
               (implementation-symbol-p (second name)))
          (and (implementation-symbol-p (first name))
               (not (member (symbol-name (first name))
                            '("FAST-METHOD" "SLOW-METHOD" "XEP" "TL-XEP" "&OPTIONAL-PROCESSOR"
                              "&MORE-PROCESSOR")
                            :test #'string=)))))))

(defun lock-violation-p (symbol)
  "True for the function that signals what it is also the name of."
  (eq symbol (internal "SB-EXT" "PACKAGE-LOCK-VIOLATION")))

(defun assembly-routine-p (name)
  "True for the arithmetic between compiled code and the functions that do it."
  (and (symbolp name)
       (implementation-symbol-p name)
       (eql 0 (search "GENERIC-" (symbol-name name)))))

(defun calls-methods-p (name)
  "True for the frames from which the user's methods on standard functions are called: what such a
method calls last has taken its place on the stack."
  (if (consp name)
      (or (eq (first name) :method) (equal (string (first name)) "EMF"))
      (string= (string name) "OUTPUT-UGLY-OBJECT")))

(defun unavailable-text (argument)
  "The text of what stands in a frame for an argument that is not there any more; else NIL."
  (when (call-internal "SB-DEBUG" "UNPRINTABLE-OBJECT-P" argument)
    (concatenate 'string
                 "#<" (call-internal "SB-DEBUG" "UNPRINTABLE-OBJECT-STRING" argument) ">")))

(defun backquote-p (symbol)
  (eq symbol (internal "SB-INT" "QUASIQUOTE")))

(defun public-counterpart (name)
  "The standard function that the internal function NAME does the work of."
  (when (symbolp name)
    (let ((text (symbol-name name)))
      (cond ((eql 0 (search "TWO-ARG-" text)) (find-symbol (subseq text 8) :common-lisp))
            ((string= text "INTEGER-/-INTEGER") '/)
            ((string= text "HAIRY-DATA-VECTOR-REF/CHECK-BOUNDS") 'aref)))))

;;; Definitions

(defun lambda-list (function)
  (if (typep function 'generic-function)
      (sb-mop:generic-function-lambda-list function)
      (sb-kernel:%fun-lambda-list function)))

(defun generic-function-methods (function)
  (sb-mop:generic-function-methods function))

(defun method-specializer-names (method)
  (mapcar (lambda (specializer)
            (if (typep specializer 'sb-mop:eql-specializer)
                (list 'eql (sb-mop:eql-specializer-object specializer))
                (class-name specializer)))
          (sb-mop:method-specializers method)))

(defvar *image-print-methods*
  (let ((methods (make-hash-table :test 'eq)))
    (dolist (method (sb-mop:generic-function-methods #'print-object) methods)
      (setf (gethash method methods) t)))
  "The PRINT-OBJECT methods that came with Lisp.")

(defun printer-replaced-p ()
  "True when somebody has a PRINT-OBJECT method for the objects that our own words are made of."
  (loop for method in (sb-mop:generic-function-methods #'print-object)
          thereis (and (not (gethash method *image-print-methods*))
                       (some (lambda (name)
                               (member (first (sb-mop:method-specializers method))
                                       (sb-mop:class-precedence-list (find-class name))))
                             '(symbol string integer character cons)))))

(defun type-expander (name)
  "The function behind a DEFTYPE of NAME."
  (let ((expander (sb-int:info :type :expander name)))
    (and (functionp expander) expander)))

(defun variable-p (symbol)
  "True when SYMBOL is a global variable or a constant, or has a global value."
  (or (boundp symbol)
      (member (sb-int:info :variable :kind symbol) '(:special :global :constant))))

(defun structure-functions (name)
  "The names of the functions that (DEFSTRUCT NAME) made."
  (let ((description (sb-kernel:find-defstruct-description name nil)))
    (when description
      (remove nil (append (list (call-internal "SB-KERNEL" "DD-COPIER-NAME" description)
                                (call-internal "SB-KERNEL" "DD-PREDICATE-NAME" description))
                          (mapcar #'first
                                  (call-internal "SB-KERNEL" "DD-CONSTRUCTORS" description))
                          (mapcar #'sb-kernel:dsd-accessor-name
                                  (sb-kernel:dd-slots description)))))))

;;; A stream that hands what is written to a function

(defclass sink (sb-gray:fundamental-character-output-stream)
  ((writer :initarg :writer :reader sink-writer))
  (:documentation "Output stream whose WRITER is called with each string, start and end."))

(defmethod sb-gray:stream-write-char ((sink sink) character)
  (funcall (sink-writer sink) (string character) 0 1)
  character)

(defmethod sb-gray:stream-write-string ((sink sink) string &optional (start 0) end)
  (funcall (sink-writer sink) string start (or end (length string)))
  string)

(defmethod sb-gray:stream-line-column ((sink sink)) nil)
