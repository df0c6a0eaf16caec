;;;; ops.lisp — the operations that a request can name, and their dispatch.
;;;;
;;;; An operation is one DEFINE-OP form anywhere in the agent: name, keys, docstring, body. The body
;;;; returns the property list of its answer. Keys that say nothing are left out of the answer.

(in-package #:cl-mcp-agent)

(defstruct operation
  name keys function)

(defvar *operations* '())

(defmacro define-op (name (&rest lambda-list) docstring &body body)
  "Define the operation NAME, a keyword, whose request has the keys of LAMBDA-LIST."
  (check-type docstring string)
  (assert (eq (first lambda-list) '&key))
  `(add-operation ,name ',(mapcar (lambda (key) (intern (string key) :keyword)) (rest lambda-list))
                  (lambda ,lambda-list ,docstring ,@body)))

(defun add-operation (name keys function)
  (setf *operations*
        (sort (cons (make-operation :name name :keys keys :function function)
                    (remove name *operations* :key #'operation-name))
              #'string< :key #'operation-name))
  name)

(defun find-operation (name)
  (find name *operations* :key #'operation-name))

(defun property-list-p (object)
  (and (listp object)
       (evenp (length object))
       (loop for (key) on object by #'cddr always (keywordp key))))

(defun checked-request (request)
  "Operation and arguments of REQUEST; anything that is not a request is malformed."
  (unless (and (consp request) (keywordp (first request)) (property-list-p (rest request)))
    (malformed "A request is a list of a keyword and a property list."))
  (let ((operation (or (find-operation (first request))
                       (malformed (format nil "There is no operation ~(~S~)." (first request)))))
        (arguments (loop for (key value) on (rest request) by #'cddr
                         unless (eq key :id) collect key and collect value)))
    (loop for (key) on arguments by #'cddr
          do (unless (member key (operation-keys operation))
               (malformed (format nil "~(~S~) takes no ~(~S~)." (first request) key))))
    (values operation arguments)))

(defun request-id (request)
  (let ((id (and (consp request) (property-list-p (rest request)) (getf (rest request) :id))))
    (and (integerp id) id)))

(defun call-operation (operation arguments)
  "The properties that OPERATION answers; a failure that it did not foresee is an answer too."
  (multiple-value-bind (results failure)
      (call-with-escape (lambda () (apply (operation-function operation) arguments)))
    (if failure
        (list :condition (condition-form failure))
        (first results))))

(defun condition-form (failure)
  "FAILURE as the :CONDITION of an answer."
  (let ((frames (frame-texts (failure-frames failure))))
    `(:type ,(failure-type failure)
      :message ,(failure-message failure)
      ,@(and frames (list :backtrace frames)))))

(defvar *request-id* 0
  "Id of the request that is being answered.")

(defun answer (request)
  "The one answer to REQUEST."
  (let* ((*request-id* (or (request-id request) 0))
         (properties
           (handler-case (multiple-value-bind (operation arguments) (checked-request request)
                           (call-operation operation arguments))
             (malformed-message (condition)
               (list :condition (list :type "PROTOCOL-ERROR"
                                      :message (malformed-message-reason condition)))))))
    `(:done :id ,(request-id request)
            ,@(loop for (key value) on properties by #'cddr
                    when value collect key and collect value))))

(define-op :operations (&key)
  "List the operations with their keys, one a line."
  (list :text (format nil "~{~{~(~S~)~^ ~}~^~%~}"
                      (loop for operation in *operations*
                            collect (cons (operation-name operation)
                                          (operation-keys operation))))))

;;; Operations that run user code

(defun call-guarded (function)
  "Call FUNCTION, which runs user code, with streams, hooks, warnings and interrupts in our hands.
Its values as a list, or NIL and the failure."
  (call-with-standard-streams
   (lambda ()
     (call-without-debugger-hooks
      (lambda ()
        (call-recording-warnings
         (lambda ()
           (call-interruptibly *request-id* function))))))))

(defun call-as-operation (function &key (explain #'identity))
  "Call FUNCTION as the body of an operation that runs user code. Three values: what it returned;
the properties that the answer to every such operation has; and the failure, if it failed, as
EXPLAIN puts it."
  (setf *recorder* (make-recorder))
  (multiple-value-bind (results failure)
      (let ((*leave-turn* nil))         ; every request of the user's is answered
        (call-guarded (lambda ()
                        (multiple-value-prog1 (funcall function)
                          (run-finalizers)))))
    (recover failure)
    (finish-streams)
    (when failure
      (setf failure (funcall explain failure)))
    (values (first results)
            (list :condition (and failure (condition-form failure))
                  :warnings (warning-texts *recorder* failure)
                  :package (package-name (session-package))
                  :systems (changed-systems))
            failure)))

(defun recover (failure)
  "When storage ran out, make room again for the next evaluation."
  (when (and failure (string= (failure-type failure) "STORAGE-CONDITION"))
    (collect-garbage)))
