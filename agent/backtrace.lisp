;;;; backtrace.lisp — the frames that the user wrote, as text.
;;;;
;;;; Out stay the frames that signal, evaluate, or are how SBCL or the agent is made; internal
;;;; functions that do a standard function's work are shown as that function. A standard function
;;;; is shown when the user's code called it, not when another one did, or the inside of SBCL. Where
;;;; all frames of a call were left out, the form that made it is shown: the evaluator's frame has
;;;; it.
;;;;
;;;; Arguments may print through hostile methods, so each is printed short and safely, while the
;;;; stack is still whole.

(in-package #:cl-mcp-agent)

(defconstant +frames-limit+ 20)
(defconstant +frames-looked-at+ 500)
(defconstant +arguments-limit+ 10)

(defvar *form* nil
  "The top-level form that is being evaluated, if one is.")

(defun frame-symbol (name)
  "The symbol that says whose frame NAME is: of (FLET F :IN G), of (SETF G) and of a method of G it
is G."
  (typecase name
    (symbol name)
    (cons (let ((within (member :in name)))
            (cond (within (frame-symbol (second within)))
                  ((member (first name) '(lambda flet labels)) nil)
                  (t (frame-symbol (second name))))))))

(defun hidden-frame-p (name)
  "True for a frame that is nobody's call."
  (let ((symbol (frame-symbol name)))
    (or (stringp name)
        (and (consp name) (stringp (second name))) ; a function that a macro's expansion made
        (evaluator-frame-p name)
        (agent-frame-p name)
        (implementation-part-p name)
        (and symbol
             (or (implementation-symbol-p symbol)
                 (lock-violation-p symbol)
                 (and (asdf-symbol-p symbol)
                      (not (and (symbolp name) (publisher name))))
                 (member symbol '(error cerror signal warn break invoke-debugger throw
                                  no-applicable-method no-next-method)))))))

(defun standard-method-p (name)
  "True when NAME is that of a method which came with Lisp, of the kind (:METHOD F (CLASS …))."
  (and (consp name)
       (eq (first name) :method)
       (symbolp (second name))
       (library-symbol-p (second name))
       (every (lambda (specializer) (and (symbolp specializer) (library-symbol-p specializer)))
              (first (last name)))
       (baseline-p (find-method-named (rest name)))))

(defun find-method-named (name)
  "The method that NAME, the list of function, qualifiers and specializers, means."
  (find (rest name) (generic-function-methods (fdefinition (first name)))
        :test #'equal
        :key (lambda (method)
               (append (method-qualifiers method) (list (method-specializer-names method))))))

(defun landmark-p (name)
  "True for the agent's frames at which the user's end."
  (member name '(evaluate-form read-form value-text)))

(defun agent-frame-p (name)
  (let ((symbol (frame-symbol name)))
    (and symbol (eq (symbol-package symbol) (symbol-package 'agent-frame-p)))))

(defun top-level-lambda-p (name arguments)
  "True for the nameless function that EVAL compiled of a whole form."
  (and (consp name) (eq (first name) 'lambda) (null (second name)) (null arguments)))

(defun frame-text (name arguments)
  (format nil "(~A~{ ~A~}~@[ ...~])"
          (if (consp name) (short-text (anonymous-name name)) (symbol-text name))
          (loop for argument in arguments
                repeat +arguments-limit+
                collect (or (unavailable-text argument) (short-text argument)))
          (nthcdr +arguments-limit+ arguments)))

(defun anonymous-name (name)
  "NAME without the :IN part that only says which file or form it was compiled in."
  (let ((within (member :in name)))
    (if (and within (stringp (second within)))
        (ldiff name within)
        name)))

(defun form-text (form)
  (short-text form :limit 200 :lines #'one-line))

(defun raw-frames ()
  "Names and arguments of the frames inside the evaluation, innermost first."
  (let ((frames '())
        (count 0))
    (map-frames (lambda (name arguments &rest more)
                  (declare (ignore more))
                  (unless (assembly-routine-p name)
                    (push (cons name arguments) frames))
                  (or (landmark-p name)
                      (>= (incf count) +frames-looked-at+))))
    (nreverse frames)))

(defun evaluated-form (frame)
  "The form that FRAME evaluates, when it is one of the evaluator's."
  (destructuring-bind (name . arguments) frame
    (when (evaluator-frame-p name)
      (if (or (null arguments) (unavailable-text (first arguments)))
          *form*
          (first arguments)))))

(defun written-form-p (form)
  "True when a user may have written FORM: it is a call, and no macro of Lisp's made it."
  (and (consp form)
       (symbolp (first form))
       (not (member (first form) '(function quote)))
       (not (made-up-p form))))

(defun made-up-p (form &optional (depth 4))
  "True when FORM has symbols that programmers do not write, as far as one need look."
  (or (and (symbolp form) (implementation-symbol-p form) (not (backquote-p form)))
      (and (consp form)
           (plusp depth)
           (loop for rest = form then (cdr rest)
                 repeat 20
                 while (consp rest)
                   thereis (made-up-p (car rest) (1- depth))))))

(defun evaluators-call-p (symbol arguments form)
  "True when the evaluator itself called SYMBOL, to expand FORM or to find the function it calls."
  (or (member form arguments)
      (and (eq symbol 'symbol-function) (eq (first arguments) (first form)))))

(defun inside-call-p (symbol arguments callers)
  "True when the standard function SYMBOL was called by another one or by the inside of SBCL, on
their own account: none of the CALLERS up to the first that is shown was given a function to call."
  (let ((inside nil))
    (loop for (caller . more) in callers
          for form = (evaluated-form (cons caller more))
          do (cond (form
                    (return (or inside
                                (not (written-form-p form))
                                (evaluators-call-p symbol arguments form))))
                   ((agent-frame-p caller) (setf inside t))
                   ((or (some #'functionp more) (member symbol more) (calls-methods-p caller))
                    (return nil))
                   ((and (symbolp caller) (library-symbol-p caller)
                         (not (hidden-frame-p caller)))
                    (return t))
                   ((or (hidden-frame-p caller) (standard-method-p caller))
                    (setf inside t))
                   (t (return inside)))
          finally (return inside))))

(defun call-text (name arguments caller)
  "The call of NAME; as it was written where the frame has other arguments than the form."
  (let ((form (and caller (evaluated-form caller))))
    (if (and (consp form)
             (eq (first form) name)
             (or (some #'unavailable-text arguments)
                 (not (eql (length arguments) (ignore-errors (list-length (rest form)))))))
        (form-text form)
        (frame-text name arguments))))

(defun library-call-text (symbol arguments callers)
  "The call of the standard function SYMBOL, if it is the user's."
  (unless (inside-call-p symbol arguments callers)
    (call-text symbol arguments (first callers))))

(defun visible-text (name arguments callers condition)
  "The text of a frame that is not the evaluator's; NIL for one that stays out."
  (let ((counterpart (public-counterpart name))
        (symbol (frame-symbol name)))
    (cond ((equal name "undefined function")
           (when (typep condition 'undefined-function)
             (frame-text (cell-error-name condition) arguments)))
          ((macro-function-name-p name)
           (when (consp (first arguments))
             (form-text (first arguments))))
          (counterpart (library-call-text counterpart arguments callers))
          ((or (top-level-lambda-p name arguments)
               (hidden-frame-p name)
               (standard-method-p name)
               ;; READ or PRIN1 that the agent called is no call of the user's. Frames with our
               ;; interactive streams are how SBCL reads, below the call that asked.
               (agent-frame-p (first (first callers)))
               (some #'conversation-p arguments))
           nil)
          ((and (symbolp name) (library-symbol-p symbol))
           (library-call-text symbol arguments callers))
          ((and (library-writer-p name) (hidden-frame-p (first (first callers)))
                (not (evaluated-form (first callers))))
           nil)
          (t (call-text name arguments (first callers))))))

(defun library-writer-p (name)
  (and (consp name) (eq (first name) 'setf) (library-symbol-p (second name))))

(defun macro-function-name-p (name)
  (and (consp name) (eq (first name) 'macro-function)))

(defun backtrace (condition)
  "Texts of the user's frames, innermost first, and none twice in a row."
  (with-plain-printer
    (let ((texts '())
          (hidden t))                   ; the frame just inside was left out
      (loop for (frame . callers) on (raw-frames)
            for (name . arguments) = frame
            for form = (evaluated-form frame)
            while (< (length texts) +frames-limit+)
            do (let ((text (cond ((null form) (visible-text name arguments callers condition))
                                 ((and hidden (written-form-p form)) (form-text form)))))
                 (when (and text (not (equal text (first texts))))
                   (push text texts))
                 (unless (and form (null text))
                   (setf hidden (null text)))))
      (or (nreverse texts)
          (and *form* (list (form-text *form*)))))))

(defun bare-backtrace ()
  "Functions that make the texts of the innermost frames, each run of one function shown once: this
is for when there is no room to print, and the stack is likely full of one recursion."
  (let ((names '())
        (count 0))
    (map-frames (lambda (name arguments)
                  (unless (or (hidden-frame-p name)
                              (top-level-lambda-p name arguments)
                              (equal name (first names)))
                    (push name names))
                  (or (landmark-p name)
                      (>= (incf count) +frames-looked-at+)
                      (>= (length names) +frames-limit+)))
                :arguments nil)
    (if names
        (loop for name in (nreverse names)
              collect (let ((name name))
                        (lambda () (format nil "(~A ...)" (plain-text name)))))
        (when *form*
          (let ((form *form*))
            (list (lambda () (form-text form))))))))

(defun frame-texts (frames)
  "FRAMES of a failure as strings."
  (with-plain-printer
    (loop for frame in frames
          collect (if (functionp frame) (funcall frame) frame))))
