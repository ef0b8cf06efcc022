"""What styles and tag names say about how a browser shows the text of an element."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_tablebench.errors import TableError

if TYPE_CHECKING:
    import bs4

MAX_MATCHES = 300_000
"""The most tests of an element against a rule of a style sheet; about 100,000 take a second."""

_HIDDEN = re.compile(
    "annotation|annotation-xml|area|audio|base|canvas|datalist|iframe|input|link|meta|meter|"
    "noembed|noframes|noscript|param|progress|rp|script|style|template|textarea|title|video"
)
_BLOCK = re.compile(
    "address|article|aside|blockquote|caption|center|dd|details|dialog|dir|div|dl|dt|fieldset|"
    "figcaption|figure|footer|form|h[1-6]|header|hgroup|hr|legend|li|listing|main|menu|nav|ol|"
    "optgroup|option|p|plaintext|pre|search|section|summary|table|ul|xmp"
)
_BY_NAME: Mapping[str, Mapping[str, bool]] = {
    "pre": {"keeps_blanks": True, "keeps_line_ends": True},
    "listing": {"keeps_blanks": True, "keeps_line_ends": True},
    "xmp": {"keeps_blanks": True, "keeps_line_ends": True},
    "s": {"is_struck": True},
    "strike": {"is_struck": True},
    "del": {"is_struck": True},
    "sup": {"is_raised": True},
    "sub": {"is_lowered": True},
    "summary": {"is_invisible": False},
}
_PARTS = frozenset(("tr", "thead", "tbody", "tfoot"))
_KEEPS_BLANKS = frozenset(("pre", "pre-wrap", "break-spaces"))
_DECLARATION = re.compile(
    r"(?:^|;)\s*(display|visibility|white-space|vertical-align|float|position|top|text-decoration)"
    r"(?:-line)?\s*:\s*([^;]*)"
)
_RAISED = re.compile(r"super|\+?(?:[1-9]\d{0,5}|0?\.[1-9]\d{0,5})(?:\.\d{0,5})?(?:%|[a-z]{2,3})")
_SHOWS = re.compile(r"display|visibility|line-through|:\s*super|white-space\s*:\s*(?:pre|break)")
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_LAST = re.compile(r"[^\s>+~]+$")
_NAME = re.compile(r"[.#][\w-]+|^[\w-]+")
_SELECTOR = re.compile(r"""[\w\s.#>+~*,:='"\[\]-]{1,500}""")


class Look(NamedTuple):
    """How the text of an element is shown."""

    is_hidden: bool = False
    """Neither the element nor its place is shown."""
    is_invisible: bool = False
    """The place is shown without the text."""
    keeps_blanks: bool = False
    keeps_line_ends: bool = False
    is_raised: bool = False
    is_lowered: bool = False
    is_struck: bool = False
    is_block: bool = False
    has_items: bool = False
    """Each child is a block, as in a flex box or a grid."""


class Looks:
    """The looks of a document's elements, by its style sheets, attributes and tag names.

    Rules of a style sheet inside an at-rule such as `@media` are not read. Raises `TableError` for
    a style sheet that takes too long to apply; `where` is the document's label in messages.
    """

    def __init__(self, soup: bs4.BeautifulSoup, where: str) -> None:
        self._sheet: dict[int, str] = {}
        css = "\n".join(style.get_text() for style in soup.find_all("style"))
        rules = [
            (selector.strip(), body)
            for selectors, body in _rules(css)
            if _SHOWS.search(body)
            for selector in selectors.split(",")
        ]
        if rules:
            self._match(soup, sorted(rules, key=lambda rule: _specificity(rule[0])), where)

    def _match(self, soup: bs4.BeautifulSoup, rules: list[tuple[str, str]], where: str) -> None:
        import soupsieve

        tags_by_name: dict[str, list[bs4.Tag]] = {}
        for tag in soup.find_all(True):
            classes = {f".{name}" for name in tag.get_attribute_list("class")}
            for name in ("", tag.name, f"#{tag.get('id')}", *classes):
                tags_by_name.setdefault(name, []).append(tag)
        matches = 0
        for selector, body in rules:
            last = _LAST.search(selector)
            indexed = last and _NAME.search(last[0])
            tags = tags_by_name.get(indexed[0] if indexed else "", [])
            matches += len(tags)
            if matches > MAX_MATCHES:
                raise TableError(
                    f"{where}: its style sheets hide or mark text by more than {MAX_MATCHES:,} "
                    f"tests of elements; remove the <style>"
                )
            if not tags:
                continue
            try:
                pattern = soupsieve.compile(selector)
            except (soupsieve.SelectorSyntaxError, NotImplementedError):
                continue  # browsers ignore a rule that they do not understand, too
            for tag in filter(pattern.match, tags):
                self._sheet[id(tag)] = f"{self._sheet.get(id(tag), '')};{body}"

    def of(self, node: bs4.Tag, outer: Look) -> Look:
        """Return the look of an element inside an element with the look `outer`."""
        attributes = node.attrs
        styles = self._sheet.get(id(node), ""), str(attributes.get("style", ""))
        return _look(node.name, styles, ("hidden" in attributes, "open" in attributes), outer)


@lru_cache(maxsize=8192)
def _look(name: str, styles: tuple[str, str], states: tuple[bool, bool], outer: Look) -> Look:
    has_hidden, has_open = states
    style = {
        key: value
        for is_important in (False, True)
        for text in styles
        for key, value in _DECLARATION.findall(text.lower())
        if ("!" in value) is is_important
    }
    display, visibility = _word(style, "display"), _word(style, "visibility")
    is_hidden = (
        display == "none"
        or _HIDDEN.fullmatch(name) is not None
        or (not display and has_hidden)
        or (name == "dialog" and not has_open)
        or (visibility == "collapse" and name in _PARTS)
    )
    is_aside = _word(style, "float") in {"left", "right"}
    is_aside |= _word(style, "position") in {"absolute", "fixed"}
    is_inline = display.startswith("inline") or display == "contents"
    is_block = (bool(display) or _BLOCK.fullmatch(name) is not None) and not is_inline
    changes = {
        **_BY_NAME.get(name, {}),
        "is_hidden": outer.is_hidden or is_hidden,
        "is_block": is_aside or is_block or (outer.has_items and display != "contents"),
        "has_items": display.removeprefix("inline-") in {"flex", "grid"},
    }
    if visibility in {"hidden", "collapse", "visible"}:
        changes["is_invisible"] = visibility != "visible"
    if name == "details" and not has_open:
        changes["is_invisible"] = True
    if blanks := _word(style, "white-space"):
        changes["keeps_blanks"] = blanks in _KEEPS_BLANKS
        changes["keeps_line_ends"] = blanks in _KEEPS_BLANKS or blanks == "pre-line"
    is_shifted = _word(style, "position") == "relative" and _word(style, "top").startswith("-")
    if is_shifted or _RAISED.fullmatch(_word(style, "vertical-align")):
        changes["is_raised"] = outer.is_raised or name not in {"td", "th", "div", "p", *_PARTS}
    if "line-through" in style.get("text-decoration", ""):
        changes["is_struck"] = True
    return outer._replace(**changes)


def _word(style: Mapping[str, str], name: str) -> str:
    return style.get(name, "").partition("!")[0].strip()


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Yield (selector, declarations) of each rule that is outside of an at-rule."""
    css = _COMMENT.sub("", css).replace("<!--", "").replace("-->", "")
    depth = start = 0
    selector = ""
    for match in re.finditer(r"[{};]", css):
        if match[0] == "{":
            depth += 1
            if depth == 1:
                selector, start = css[start : match.start()].strip(), match.end()
        elif match[0] == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                if _SELECTOR.fullmatch(selector):
                    yield selector, css[start : match.start()]
                selector, start = "", match.end()
        elif depth == 0:
            start = match.end()


def _specificity(selector: str) -> tuple[int, int, int]:
    """Return the weight of a selector: its ids, its classes and attributes, its tag names."""
    return (
        selector.count("#"),
        len(re.findall(r"[.\[:]", selector)),
        len(re.findall(r"(?:^|[\s>+~])\w", selector)),
    )
