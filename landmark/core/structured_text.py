"""YAML and JSON that somebody else may have written: bounded in length, in depth and in size.

Short files can be made to hang or exhaust whoever reads them: aliases of aliases, nesting without
end, numbers of a million digits. Every file of that kind is read here, and either becomes plain
values or is refused by one line that names it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from landmark.core.errors import DamagedError, UserError

LONGEST_YAML = 1 << 18
"""Bytes of a recipe; those of ours have 5,000."""
LONGEST_JSON = 1 << 26
"""Bytes of a JSON file; the largest vocabularies in use have half of that."""
_DEEPEST = 64  # lists and mappings inside one another
_MOST_NODES = 50_000  # values of a YAML document, each alias counted with all that it stands for
_LONGEST_NUMBER = 40  # characters
_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_PLAIN = {
    *(f"tag:yaml.org,2002:{kind}" for kind in ("bool", "null", "timestamp", "map", "seq")),
    *_NUMBERS,
    _TEXT,
    _MERGE,
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class InvalidTextError(ValueError):
    """What is wrong with a text, and the line if it is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.line = problem, line


def read_bounded(path: Path, longest: int) -> bytes:
    """A file's bytes; one that is longer is refused before it is read whole."""
    try:
        with path.open("rb") as file:
            content = file.read(longest + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > longest:
        raise UserError(f"{path}: is longer than {longest:,} bytes, which no such file is")
    return content


def parse_yaml(text: str) -> tuple[Any, yaml.Node | None]:
    """A document's values, and its nodes, which know their lines; or an InvalidTextError.

    Of YAML's types only the plain ones are known, and keys are what was written: `no` is a text.
    """
    if len(text) > LONGEST_YAML:
        raise InvalidTextError(f"longer than {LONGEST_YAML:,} characters")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, None
        _check_nodes(node, {})
        return loader.construct_document(node), node
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None)
        raise InvalidTextError(problem or "cannot be parsed", mark and mark.line + 1) from None
    except InvalidTextError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        # PyYAML's own, where a tag and its value do not fit
        raise InvalidTextError("cannot be parsed") from None


class _Loader(yaml.SafeLoader):
    """PyYAML's, with a limit on its depth, that knows no types but plain ones."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise InvalidTextError(f"nested more than {_DEEPEST} deep", self.line + 1)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_text(self, node: yaml.ScalarNode) -> str:
        """A text; JSON writes a rare character as two escapes, which YAML knows nothing of."""
        value: str = self.construct_scalar(node)
        return _joined(value, node.start_mark.line + 1)

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise InvalidTextError("not a mapping", node.start_mark.line + 1)
        self.flatten_mapping(node)
        found: dict[Any, Any] = {}
        for key, value in node.value:
            found[key.value] = self.construct_object(value, deep=deep)
        return found


_Loader.add_constructor(_TEXT, _Loader.construct_text)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_text)


def _check_nodes(node: yaml.Node, sizes: dict[int, int]) -> int:
    """How many values a node stands for, with all that its aliases repeat."""
    line = node.start_mark.line + 1
    if node.tag not in _PLAIN:
        raise InvalidTextError(f"the tag {node.tag[:40]!r} is not supported", line)
    if isinstance(node, yaml.ScalarNode):
        if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise InvalidTextError(f"a number of {len(node.value):,} characters", line)
        return 1
    if id(node) in sizes:
        if not sizes[id(node)]:
            raise InvalidTextError("contains itself", line)
        return sizes[id(node)]
    sizes[id(node)], size = 0, 1
    for child in _children(node):
        size += _check_nodes(child, sizes)
        if size > _MOST_NODES:
            raise InvalidTextError(f"stands for more than {_MOST_NODES:,} values", line)
    sizes[id(node)] = size
    return size


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
        return
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise InvalidTextError("a key must be a word", key.start_mark.line + 1)
        _joined(key.value, key.start_mark.line + 1)
        yield value


def _joined(text: str, line: int | None = None) -> str:
    """A text with pairs of surrogates as the characters they stand for; a lone one is no text."""
    if not _SURROGATE.search(text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise InvalidTextError("half a character (a lone surrogate)", line) from None


def parse_json(content: bytes | str, place: object, longest: int = LONGEST_JSON) -> Any:
    """The values in JSON of UTF-8; messages name its `place`."""
    if len(content) > longest:
        raise UserError(f"{place}: is longer than {longest:,} bytes, which no such file is")
    try:
        text = content.decode() if isinstance(content, bytes) else content
        body = json.loads(text)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(body, ensure_ascii=False).encode()  # lone ones are no text
    except (ValueError, RecursionError):
        raise DamagedError(f"{place}: damaged: it is not valid JSON") from None
    level = [body]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return body
    raise DamagedError(f"{place}: damaged: it is nested more than {_DEEPEST} deep")


def _inside(value: Any) -> Iterator[Any]:
    """The lists and mappings in a list or a mapping."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return
    for inner in value:
        if isinstance(inner, dict | list):
            yield inner


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    body = parse_json(read_bounded(path, LONGEST_JSON), path)
    if not isinstance(body, dict):
        raise DamagedError(f"{path}: damaged: it holds no object")
    return body
