"""The language of *.mcp files: golden conversations. README.md in this folder describes it."""

import json
import pathlib
import re
from dataclasses import dataclass, field

INDENT = "    "
_HOLE = "\ue000"  # marks a hole inside parsed JSON; no message of ours holds this character


class SyntaxProblem(Exception):
    pass


@dataclass
class Step:
    # send, call, expect, expect-text, expect-progress, skip-progress, nothing, write, await, kill-worker, restart,
    # kill-and-restart
    kind: str
    line: int  # counted from 1
    end: int  # the line after the step
    payload: object = None
    exact: bool = False
    is_error: bool = False
    wants_progress: bool = False


@dataclass
class Transcript:
    path: pathlib.Path
    lines: list
    steps: list = field(default_factory=list)
    revision: str = None
    raw: bool = False
    cold_cache: bool = False
    arguments: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    conditions: list = field(default_factory=list)  # (shell command, reason)


def read(path):
    transcript = Transcript(path, path.read_text().splitlines())
    number = 0
    while number < len(transcript.lines):
        head = transcript.lines[number]
        end = number + 1
        while end < len(transcript.lines) and _continues(transcript.lines, end):
            end += 1
        block = [line[len(INDENT):] for line in transcript.lines[number + 1:end]]
        if head.strip() and not head.startswith("#"):
            try:
                _read_item(transcript, head, block, number + 1, end + 1)
            except (SyntaxProblem, ValueError) as problem:
                raise SyntaxProblem(f"{path}:{number + 1}: {problem}") from None
        number = end
    if bool(transcript.revision) == transcript.raw:
        raise SyntaxProblem(f"{path}: says neither '@ revision DATE' nor '@ raw', or both")
    return transcript


def _continues(lines, number):
    """Indented lines belong to the item above, as do empty lines between them and a closing brace."""
    if lines[number].startswith((INDENT, "}", "]")):
        return True
    rest = next((line for line in lines[number:] if line.strip()), "")
    return not lines[number].strip() and rest.startswith(INDENT)


def _read_item(transcript, head, block, line, end):
    sign, _, rest = head.partition(" ")
    if sign == "@":
        _read_directive(transcript, rest, block)
    elif sign == "-->raw":
        transcript.steps.append(Step("send", line, end, _unescape(rest) + b"\n"))
    elif sign == "-->":
        transcript.steps.append(_read_send(rest, block, line, end))
    elif sign == "-->progress":
        step = _read_send(rest, block, line, end)
        if step.kind != "call":
            raise SyntaxProblem("only 'eval' and 'call' get a token from us; JSON can name its own")
        step.wants_progress = True
        transcript.steps.append(step)
    elif sign in ("<==", "<--"):
        transcript.steps.append(_read_expectation(sign == "<==", rest, block, line, end))
    elif head == "<.. none":
        transcript.steps.append(Step("nothing", line, end))
    elif head == "<.. progress":
        transcript.steps.append(Step("skip-progress", line, end))
    elif sign == "~>":
        kind, _, name = rest.partition(" ")
        if kind not in ("write", "await", "kill-worker", "restart", "kill-and-restart"):
            raise SyntaxProblem(f"unknown hook {kind!r}")
        transcript.steps.append(Step(kind, line, end, (name, _text(block) + "\n")))
    else:
        raise SyntaxProblem(f"neither a comment nor a step: {head!r}")


def _read_directive(transcript, rest, block):
    name, _, value = rest.partition(" ")
    if name == "revision":
        transcript.revision = value
    elif name == "raw":
        transcript.raw = True
    elif name == "cold-cache":
        transcript.cold_cache = True
    elif name == "args":
        transcript.arguments += value.split()
    elif name == "env":
        variable, _, content = value.partition("=")
        transcript.environment[variable] = content
    elif name == "file":
        transcript.files[value] = _text(block) + "\n"
    elif name == "skip-unless":
        command, _, reason = value.partition(" : ")
        transcript.conditions.append((command, reason))
    else:
        raise SyntaxProblem(f"unknown directive {name!r}")


def _read_send(rest, block, line, end):
    word, _, after = rest.partition(" ")
    if word == "eval":
        return Step("call", line, end, ("evaluate-lisp", {"code": _text(([after] if after else []) + block)}))
    if word == "call":
        tool, _, arguments = after.partition(" ")
        return Step("call", line, end, (tool, json.loads("\n".join([arguments, *block]).strip() or "{}")))
    message = json.loads("\n".join([rest, *block]))
    if isinstance(message, dict) and "jsonrpc" not in message:
        message = {"jsonrpc": "2.0", **message}
    return Step("send", line, end, json.dumps(message).encode() + b"\n")


def _read_expectation(exact, rest, block, line, end):
    words = re.match(r"(error )?text(?: |$)(.*)", rest)
    if words:
        text = _text(([words[2]] if words[2] else []) + block)
        return Step("expect-text", line, end, text, exact, bool(words[1]))
    word, _, after = rest.partition(" ")
    if word == "progress":
        if exact:
            raise SyntaxProblem("how far a call is cannot be told exactly: write '<-- progress'")
        return Step("expect-progress", line, end, _text(([after] if after else []) + block))
    return Step("expect", line, end, _parse_pattern("\n".join([rest, *block])), exact)


def _text(block):
    return "\n".join(block).rstrip("\n")


def _unescape(text):
    """\\xHH is that byte, \\\\ a backslash; everything else stands for itself, in UTF-8."""
    parts = re.split(r"(\\x[0-9a-fA-F]{2}|\\\\)", text)
    return b"".join(
        bytes([int(part[2:], 16)]) if part.startswith("\\x") else b"\\" if part == "\\\\" else part.encode()
        for part in parts)


# Patterns.


def _parse_pattern(text):
    """JSON in which <any>, <nonempty> and <re:...> may stand for a value, and <rest> for the end of an array."""
    holes = re.compile(r'("(?:[^"\\]|\\.)*")|<(any|nonempty|rest|re:.*?)>(?=\s*(?:[,}\]]|$))', re.DOTALL)
    pattern = json.loads(holes.sub(lambda m: m[1] or f'"{_HOLE}{m[2]}"', text))
    if isinstance(pattern, dict) and "jsonrpc" not in pattern:
        pattern = {"jsonrpc": "2.0", **pattern}
    return pattern


def mismatches(pattern, actual, exact, path="message"):
    """What keeps a value from matching, as sentences; empty when it matches."""
    if isinstance(pattern, str) and pattern.startswith(_HOLE):
        return _hole_mismatches(pattern[1:], actual, path)
    if isinstance(pattern, dict) and isinstance(actual, dict):
        return _object_mismatches(pattern, actual, exact, path)
    if isinstance(pattern, list) and isinstance(actual, list):
        if path == "message":
            return _batch_mismatches(pattern, actual, exact)
        if pattern and pattern[-1] == _HOLE + "rest":
            pattern, actual = pattern[:-1], actual[:len(pattern) - 1]
        if len(pattern) != len(actual):
            return [f"{path} has {len(actual)} elements, not {len(pattern)}"]
        return [problem for index, (one, other) in enumerate(zip(pattern, actual))
                for problem in mismatches(one, other, exact, f"{path}[{index}]")]
    if type(pattern) is type(actual) and pattern == actual:
        return []
    return [f"{path} is {_short(actual)}, not {_short(pattern)}"]


def _hole_mismatches(hole, actual, path):
    if hole == "any":
        return []
    if hole == "nonempty":
        return [] if actual not in (None, "", [], {}) else [f"{path} is empty"]
    regex = hole[len("re:"):]
    if isinstance(actual, str) and re.search(regex, actual):
        return []
    return [f"{path} is {_short(actual)}, which does not match {regex}"]


def _object_mismatches(pattern, actual, exact, path):
    wanted = {key.removesuffix("!"): (value, exact or key.endswith("!")) for key, value in pattern.items()}
    problems = [f"{path}.{key} is missing" for key in wanted if key not in actual]
    if exact:
        problems += [f"{path}.{key} is there and should not be" for key in actual if key not in wanted]
    for key, (value, is_exact) in wanted.items():
        if key in actual:
            problems += mismatches(value, actual[key], is_exact, f"{path}.{key}")
    return problems


def _batch_mismatches(pattern, actual, exact):
    """Replies in a batch may come in any order."""
    left = list(actual)
    problems = []
    for one in pattern:
        if isinstance(one, dict):
            one = {"jsonrpc": "2.0", **one}
        found = next((reply for reply in left if not mismatches(one, reply, exact, "reply")), None)
        if found is None:
            problems.append(f"the batch holds no reply like {_short(one)}")
        else:
            left.remove(found)
    return problems + [f"the batch holds a reply too many: {_short(reply)}" for reply in left]


def _short(value):
    text = json.dumps(value, ensure_ascii=False).replace(_HOLE, "hole:")
    return text if len(text) < 1000 else text[:1000] + "…"


def text_matches(pattern, text):
    """A line '...' stands for any number of lines; holes stand for a part of a line."""
    regex = "".join(r"(?:[^\n]*\n)*?" if line == "..." else _line_regex(line) + r"\n"
                    for line in pattern.split("\n"))
    return re.fullmatch(regex, text + "\n") is not None


def _line_regex(line):
    parts = re.split(r"<(any|nonempty|re:.*?)>", line)
    holes = {"any": "[^\n]*", "nonempty": "[^\n]+"}
    return "".join(re.escape(part) if index % 2 == 0 else holes.get(part) or f"(?:{part[3:]})"
                   for index, part in enumerate(parts))
