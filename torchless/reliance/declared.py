"""What a header declares itself, for others to use: macros, types, functions, variables, enumerators, aliases.

Read off the text without a compiler, every arm of an #if taken. Where the text leaves a doubt, more names are given
than are declared: a name too many keeps an include, a name too few would lose one. Members of classes are left out: who
uses them has the class's name, or something whose declaration has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchless.reliance.mentions import visible_text

VERSION = 5
"""Goes up whenever scan() gives something else for the same bytes."""

_NAME = r"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
# Only a directive holds a # once literals and comments are gone.
_DIRECTIVE = re.compile(r"#[ \t]*(\w*)((?:[^\\\n]+|\\(?:[ \t]*\n|.))*)")
_STOP = re.compile(r"[{}();]")
_BRACKETS = {"(": re.compile(r"[()]"), "{": re.compile(r"[{}]"), "<": re.compile(r"[<>;{]")}
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]", re.S)
_ATTRIBUTE_CALL = re.compile(
    r"\b(?:__attribute__|__declspec|alignas|__align__|__launch_bounds__|decltype|noexcept|requires|explicit|_Pragma)\s*\("
)
_NAMESPACE = re.compile(rf"(?:inline\s+)?namespace\b\s*({_NAME}(?:\s*::\s*(?:inline\s+)?{_NAME})*)?\s*\Z")
_LINKAGE = re.compile(r'extern\s*""\s*\Z')
_TYPE = re.compile(rf"\b(class|struct|union|enum)\b(?:\s+(?:class|struct)\b)?((?:\s+|::|{_NAME})*)")
_POINTER = re.compile(rf"\(\s*(?:{_NAME}\s*::\s*)?[*&^]+\s*(?:const\s+)?({_NAME})")
_LONGEST = 4000  # characters of a declaration without its blocks; of a longer one every name counts
_MOST_BLOCKS = 20  # in one declaration
_TEMPLATES = re.compile(r"(?:template\s*<\s*>\s*)+")
_OPERATOR = re.compile(r"\boperator\b\s*(\(\s*\)|\"\"|[^\s(\w]+|\w+)")
_LOCAL = re.compile(r"\b(?:inline|static|template|constexpr|consteval|__forceinline__|__inline__|__device__|friend)\b")
_LITERAL = re.compile(r"(?<![\w.])\d|\"\"")
_CALLS = re.compile(rf"{_NAME}\s*(?:<[^;]*>)?\s*[({{]|\]\s*[({{]")
_QUIET_PRAGMAS = ("once", "clang", "GCC", "region", "endregion", "message", "unroll", "nv_", "push_macro", "pop_macro")
_WHOLE = re.compile(_NAME)
_KEYWORDS = frozenset(
    _WHOLE.findall("""
    alignas alignof asm auto bool break case catch char class concept const consteval constexpr constinit
    const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false
    final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override
    private protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
    union unsigned using virtual void volatile wchar_t while and or not __global__ __device__ __host__ __shared__
    __constant__ __forceinline__ __inline__ __noinline__ __restrict__ __attribute__ __declspec __launch_bounds__
    __align__ _Pragma __extension__ __managed__ __asm__ _Static_assert
    """)
)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a header declares.

    names: of whatever can be used by name; the header's own guard is among them. effects: what the header does that
    no name shows, one phrase each ("expands FOO"), in file order; including it for nothing but these is possible.
    once: whether it may be read more than once without harm, by a guard or #pragma once.
    """

    names: frozenset[str]
    effects: tuple[str, ...]
    once: bool


def scan(data: bytes) -> tuple[object, ...]:
    """The fields of the Declared of a file with these bytes, as plain values."""
    text = visible_text(data)
    found = _Found()
    found.directives(text)
    once = bool(re.search(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", text, re.M)) or _is_guarded(text)
    if not found.declarations(_DIRECTIVE.sub("", text)):
        first, others = _arms(text)
        found.names.update(set(_WHOLE.findall(others)) - _KEYWORDS)
        if not found.declarations(first):
            found.names.update(set(_WHOLE.findall(first)) - _KEYWORDS)
            found.effects.append("has braces that do not pair up")
    return frozenset(found.names), tuple(dict.fromkeys(found.effects)), once


def _is_guarded(text: str) -> bool:
    first = _DIRECTIVE.search(text)
    if first is None or text[: first.start()].strip() or first[1] not in ("ifndef", "if"):
        return False
    second = _DIRECTIVE.search(text, first.end())
    if second is None or second[1] != "define" or text[first.end() : second.start()].strip():
        return False
    guard = _WHOLE.search(second[2])
    return guard is not None and guard[0] in _WHOLE.findall(first[2])


def _arms(text: str) -> tuple[str, str]:
    """The text without directives: what is in no #if or in the first arm of one, and what is in another arm."""
    parts: tuple[list[str], list[str]] = ([], [])
    later: list[bool] = []
    position = 0
    for directive in _DIRECTIVE.finditer(text):
        parts[any(later)].append(text[position : directive.start()])
        position = directive.end()
        keyword = directive[1]
        if keyword.startswith("if"):
            later.append(False)
        elif later and keyword.startswith("el"):
            later[-1] = True
        elif later and keyword == "endif":
            later.pop()
    parts[any(later)].append(text[position:])
    return "".join(parts[0]), "".join(parts[1])


class _Found:
    """Names and effects as they come together."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.effects: list[str] = []

    def directives(self, text: str) -> None:
        """Take in what directives define, take away and ask for."""
        local: set[str] = set()
        for keyword, rest in _DIRECTIVE.findall(text):
            if keyword in ("define", "undef"):
                name = _WHOLE.search(rest)
                if name is None:
                    continue
                if keyword == "define":
                    self.names.add(name[0])
                    local.add(name[0])
                elif name[0] in local:
                    self.names.discard(name[0])
                else:
                    self.names.add(name[0])
                    self.effects.append(f"undefines {name[0]}")
            elif keyword == "pragma" and not rest.strip().startswith(_QUIET_PRAGMAS):
                self.effects.append(f"has #pragma {' '.join(rest.split())[:40]}")
            elif keyword in ("error", "warning") or not keyword:
                continue

    def declarations(self, text: str) -> bool:
        """Take in the declarations of ``text``, which has no directives; False where its braces do not pair up."""
        depth = start = position = 0
        pending = ""
        while True:
            stop = _STOP.search(text, position)
            if stop is None:
                self._rest(pending + text[start:])
                return depth == 0
            at, mark = stop.start(), stop[0]
            if mark in "()":
                position = _close(text, at) + 1 if mark == "(" else at + 1
                if position == 0:
                    return False
                continue
            head = pending + text[start:at]
            position = start = at + 1
            if mark == ";":
                pending = ""
                self._statement(head)
            elif mark == "}":
                pending = ""
                depth -= 1
                if depth < 0:
                    return False
            elif self._enters(head):
                pending = ""
                depth += 1
            else:
                close = _close(text, at)
                if close < 0:
                    return False
                position = start = close + 1
                pending = self._block(head, text[at + 1 : close], text[close + 1 : close + 200])
        return True

    def _rest(self, text: str) -> None:
        """Take in what no semicolon ends: calls of macros, or a piece of what goes on behind the header."""
        names = [name for name in _WHOLE.findall(text) if name not in _KEYWORDS]
        self._add(names)
        if text.strip():
            self.effects.append(f"expands {names[0]}" if names else "ends in the middle of a declaration")

    def _enters(self, head: str) -> bool:
        """Whether a brace behind ``head`` opens a namespace or a linkage block."""
        cleaned = _ATTRIBUTE.sub(" ", head).strip()
        return bool(_NAMESPACE.match(cleaned) or _LINKAGE.match(cleaned))

    def _block(self, head: str, body: str, behind: str) -> str:
        """Take in a block behind ``head``. Gives what of the declaration goes on behind it, "" when it is over."""
        if len(head) > _LONGEST or head.count("{}") > _MOST_BLOCKS:
            self._add(_WHOLE.findall(head))
            return ""
        plain = _plain(head)
        assigned = _assignment(plain)
        kind = _TYPE.search(plain)
        if kind is not None and assigned < 0 and "(" not in plain[kind.start() :]:
            self._type(plain, kind)
            if kind[1] == "enum" and not re.match(r"enum\s+(?:class|struct)\b", plain[kind.start() :]):
                self.names.update(m[0] for m in (_WHOLE.search(part) for part in _split(body)) if m is not None)
            lead = "typedef " if re.match(r"\s*typedef\b", plain) else ""
            return f"{lead}{kind[1]} {{}} "
        if "(" in plain and assigned < 0:
            if _goes_on(plain, behind):
                return head + " {} "
            self._function(plain, defines=True)
            return ""
        return head + " {} "

    def _statement(self, head: str) -> None:
        """Take in a declaration that ends with a semicolon."""
        if len(head) > _LONGEST:
            self._add(_WHOLE.findall(head))
            return
        plain = _plain(head).strip()
        first = _WHOLE.match(_TEMPLATES.sub("", plain))
        word = first[0] if first else ""
        if not plain or word in ("static_assert", "_Static_assert", "asm", "__asm__"):
            return
        if word == "using":
            self._using(plain)
        elif word == "namespace":
            self._add(plain.split()[1:2])
        elif word == "typedef":
            names = _POINTER.findall(plain)
            parts = _split(plain[len("typedef") :])
            self._add(names or [n for n in (_last_name(part) for part in parts) if n])
        elif word == "template":
            self.effects.append(f"instantiates {' '.join(plain.split()[1:6])}")
        elif word == "extern" and re.match(r"extern\s+template\b", plain):
            return
        else:
            self._declaration(plain)

    def _using(self, plain: str) -> None:
        directive = re.match(r"using\s+namespace\s+(.+)", plain, re.S)
        if directive is not None:
            self.effects.append(f"has using namespace {''.join(directive[1].split())}")
            return
        if "=" in plain:
            self._add(re.findall(rf"using\s+({_NAME})", plain)[:1])
        else:
            self._add(_WHOLE.findall(part)[-1:][0] for part in _split(plain) if _WHOLE.search(part))

    def _declaration(self, plain: str) -> None:
        constructed = _constructed(plain)
        if constructed:
            self._add([constructed])
            if not re.search(r"\b(?:constexpr|constinit|const)\b", plain.partition("(")[0]):
                self.effects.append(f"sets {constructed} up when the program starts")
            return
        kind = _TYPE.search(plain)
        assigned = _assignment(plain)
        before = plain if assigned < 0 else plain[:assigned]
        if kind is not None and "(" not in before and "=" not in plain[: kind.start()]:
            self._type(plain, kind)
            tail = plain[kind.end() :]
            if "{}" in tail or _WHOLE.search(tail.partition(":")[0]):
                self._variables(tail)
            return
        if "(" in before and self._function(before, defines=False):
            return
        self._variables(plain)
        if _CALLS.search(plain[len(before) :]) and not re.search(r"\b(?:constexpr|constinit|const)\b", before):
            self.effects.append(f"sets {_last_name(before) or 'a variable'} up when the program starts")

    def _type(self, plain: str, kind: re.Match[str]) -> None:
        names = [n for n in _WHOLE.findall(kind[2]) if n not in _KEYWORDS and n != "final"]
        self._add(names)  # attributes by macro, qualifiers and the name itself; that of a template specialised too

    def _function(self, plain: str, *, defines: bool) -> bool:
        """Take in a function or something that looks like one; False when a variable is more likely."""
        opening = plain.index("(")
        listed = re.compile(r"(?<!:):(?!:)").search(plain, max(_close(plain, opening), opening))
        plain = plain[: listed.start()] if listed is not None else plain  # without a constructor's initialisers
        operator = _OPERATOR.search(plain)
        if operator is not None:
            symbol = operator[1].replace(" ", "")
            if "::" not in plain[: operator.start()]:
                self.effects.append(f"declares operator{symbol}")
        called = [n for n in _top_level_calls(plain) if n not in _KEYWORDS]
        pointers = _POINTER.findall(plain)
        self._add([*called, *pointers])
        head = plain[:opening]
        words = _WHOLE.findall(head)
        if not pointers and len(words) == 1 and words[0] not in _KEYWORDS and "::" not in head:
            self.effects.append(f"expands {words[0]}")
        elif defines and operator is None and called and not _LOCAL.search(plain):
            self.effects.append(f"defines {called[0]}")
        return bool(called or pointers or operator)

    def _variables(self, text: str) -> None:
        for part in _split(text):
            cut = re.search(r"=|\[|\{|:(?!:)|\(", part.replace("::", "  "))
            name = _last_name(part[: cut.start()] if cut else part)
            if name:
                self._add([name])

    def _add(self, names: Iterator[str] | list[str]) -> None:
        self.names.update(n for n in names if n not in _KEYWORDS)


def _constructed(plain: str) -> str:
    """The variable that ``plain`` sets up, as ``Registrar r(f(1))`` does; "" for anything else.

    It is no function: a literal stands where parameters would be declared.
    """
    declarator = re.match(rf"[^(=]*[\w>]\s+({_NAME})\s*\(", plain)
    if declarator is None:
        return ""
    close = _close(plain, declarator.end() - 1)
    inside = plain[declarator.end() : close]
    is_last = close >= 0 and not plain[close + 1 :].strip()
    return declarator[1] if is_last and "=" not in inside and _LITERAL.search(inside) else ""


def _close(text: str, at: int) -> int:
    """The offset of the bracket that closes the one at ``at``, or -1."""
    depth = 0
    for match in _BRACKETS[text[at]].finditer(text, at):
        depth += 1 if match[0] == text[at] else -1
        if depth == 0:
            return match.start()
    return -1


def _plain(head: str) -> str:
    """A declaration without attributes, template parameter lists and what looks like a call in them."""
    head = _ATTRIBUTE.sub(" ", head)
    while True:
        call = _ATTRIBUTE_CALL.search(head)
        if call is None:
            break
        close = _close(head, call.end() - 1)
        head = head[: call.start()] + " " + (head[close + 1 :] if close >= 0 else "")
    parameters = re.search(r"\btemplate\s*<", head)
    position = 0
    while parameters is not None:
        close = _close_angle(head, parameters.end() - 1)
        if close < 0:
            break
        head = head[: parameters.end()] + head[close:]
        position = parameters.end() + 1
        parameters = re.compile(r"\btemplate\s*<").search(head, position)
    return _without_arguments(head)


def _without_arguments(head: str) -> str:
    """``head`` with every template argument list that holds parentheses empty, as far as its first =."""
    position = 0
    while True:
        match = re.compile(rf"(?<!operator)({_NAME})\s*<(?![<=])|=(?!=)").search(head, position)
        if match is None or match[1] is None:
            return head
        close = _close_angle(head, match.end() - 1)
        if close < 0:
            return head  # a comparison
        if match[1] != "operator" and "(" in head[match.end() : close]:
            head = head[: match.end()] + head[close:]
        position = match.end()


def _close_angle(text: str, at: int) -> int:
    """The offset of the > that closes the < at ``at``; brackets of other kinds in between are jumped over."""
    depth = 0
    position = at
    for _ in range(len(text)):
        match = re.compile(r"[<>({]").search(text, position)
        if match is None:
            return -1
        position = match.end()
        if match[0] in "({":
            position = _close(text, match.start()) + 1
            if position == 0:
                return -1
        else:
            depth += 1 if match[0] == "<" else -1
            if depth == 0:
                return match.start()
    return -1


def _assignment(text: str) -> int:
    """The offset of the = that starts an initialiser outside of brackets, or -1."""
    depth = 0
    for match in re.finditer(r"operator\s*[=!<>]=?|[<>=!+*/%&|^-]=|=|[()\[\]]", text):
        mark = match[0]
        if mark in ("(", "["):
            depth += 1
        elif mark in (")", "]"):
            depth -= 1
        elif mark == "=" and depth == 0 and text[match.end() : match.end() + 1] != "=":
            return match.start()
    return -1


def _goes_on(plain: str, behind: str) -> bool:
    """Whether the block behind ``plain`` initialises a member in a constructor's list, so that the body is to come."""
    close = _close(plain, plain.index("("))
    listed = re.search(r"(?<!:):(?!:)", plain[close + 1 :]) if close >= 0 else None
    return listed is not None and bool(re.search(r"[\w>]\s*\Z", plain)) and behind.lstrip()[:1] in (",", "{")


def _split(text: str) -> list[str]:
    """The parts of ``text`` between commas outside of brackets; < counts as one up to the next =."""
    parts = [""]
    depth = 0
    angles = 0
    assigned = False
    for piece in re.split(r"([,()\[\]{}<>=])", text):
        if piece in ("(", "[", "{"):
            depth += 1
        elif piece in (")", "]", "}"):
            depth -= 1
        elif piece == "<" and not assigned:
            angles += 1
        elif piece == ">" and angles:
            angles -= 1
        elif piece == "=" and depth == 0:
            assigned = True
        elif piece == "," and depth <= 0 and angles == 0:
            parts.append("")
            assigned = False
            continue
        parts[-1] += piece
    return parts


def _last_name(text: str) -> str:
    names = [n for n in _WHOLE.findall(re.sub(r"\[[^\]]*\]", " ", text)) if n not in _KEYWORDS]
    return names[-1] if names else ""


def _top_level_calls(plain: str) -> Iterator[str]:
    """The names right before a ( that is in no other brackets."""
    position = 0
    while True:
        at = plain.find("(", position)
        if at < 0:
            return
        before = plain[position:at].rstrip()
        if before.endswith(">"):
            opening = before.rfind("<")
            depth = 0
            for i in range(len(before) - 1, -1, -1):
                depth += (before[i] == ">") - (before[i] == "<")
                if depth == 0:
                    opening = i
                    break
            before = before[:opening].rstrip() if opening > 0 else before
        name = re.search(rf"({_NAME})\Z", before)
        if name is not None:
            yield name[0]
        close = _close(plain, at)
        if close < 0:
            return
        position = close + 1
