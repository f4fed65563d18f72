"""The encoding of a file: its byte order mark, its declaration, UTF-8, or a guess."""

import codecs
import re
from collections import Counter
from functools import cache

import webencodings

from structkit.registry import plugins_of
from structkit.structure.html.markup import MARKUP, attributes, tags

# how a text of two or four bytes a character begins; UTF-32's mark has UTF-16's in it
WIDE_CODECS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\0?\0": "utf-16-le",  # an XML declaration
    b"\0<\0?": "utf-16-be",
}
PRESCAN_BYTES = 1_024  # of a page, which hold its declaration (HTML standard, section 13.2.3.2)
WEB_CODECS = {"gbk": "gb18030", "x-user-defined": "cp1252"}  # as the standard decodes them
# bytes that are no text if a codec is not one of ASCII and more: escapes, a domain with empty parts
ASCII_PROBE = rb"\u0041 ~[\n..]"
# of a content type
CHARSET = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|[\"']|([^\s;\"'][^\s;]*))", re.I)

EMACS_LINE_ENDS = re.compile(r"-(?:unix|dos|mac)$")  # how its lines end
# of languages without a plugin
ENCODING_RULES = {
    "css": re.compile(rb'@charset "([^"]*)";'),
    "xml": re.compile(rb"<\?xml[^>]*?encoding\s*=\s*(?:\"([^\"\s]*)\"|'([^'\s]*)')[^>]*>"),
}

# a guess: the encodings of the standard that are in use, the one that counts without evidence …
DEFAULT_CODEC = "cp1252"
LATIN_CODECS = ("cp1250", "iso8859-2", "cp1254", "cp1257")
BEYOND_LATIN_CODECS = (
    "cp932 euc-jp gb18030 big5 cp949 cp1251 koi8-r koi8-u iso8859-5 cp866 cp1253 iso8859-7 cp1255 "
    "cp1256 cp874"
).split()
# … and how much more probable than that one another must be. On the translations of Django 5.2
# into 33 languages (2026-11-26) no Western text was read wrongly; of 2,500 characters, none of 45
# other pairs of language and encoding but Estonian's, whose letters agree with the default's
MIN_EVIDENCE_BYTES = 8  # bytes beyond ASCII in different words
BEYOND_LATIN_ODDS = 5.0
SAMPLE_BYTES = 64_000  # bytes from which an encoding is guessed
PIECE_BYTES = 100  # bytes beyond ASCII; a wrong byte spoils the guess of its lines only
MAX_PIECES = 8
ASCII_BYTES = bytes(range(128))
NON_ASCII_WORD = re.compile(rb"(?<!\S)[^\s\x80-\xff]*+[\x80-\xff]\S*")


def is_wide(data: bytes, media: str = "") -> bool:
    """Return whether characters have two or four bytes, by the first or a content type."""
    return data.startswith((*WIDE_CODECS,)) or (_media_encoding(media) or "").startswith("utf-16")


def decode(data: bytes, language: str = "", media: str = "") -> str:
    r"""Decode a file in a language, which a server may have sent with a content type.

    A byte that is wrong in the encoding becomes U+FFFD. Sources: the Encoding standard for labels,
    the HTML standard for pages, each language's own rule for its files.

    >>> decode(b'<meta charset="iso-8859-1">\x80', "html"), decode(b"Gr\xc3\xb6\xc3\x9fe \xe4")
    ('<meta charset="iso-8859-1">€', 'Größe \ufffd')
    """
    if data.startswith(codecs.BOM_UTF8):
        return data.decode("utf-8-sig", "replace")
    for mark, codec in WIDE_CODECS.items():
        if data.startswith(mark):
            return data.decode(codec, "replace")
    declared = _media_encoding(media) or declaration(data, language)
    if declared:
        return data.decode(declared, WEB_ERRORS)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data.decode(_guess(data, error.start), WEB_ERRORS)


def declaration(data: bytes, language: str) -> str | None:
    """Return the encoding that a file declares by its language's rule, in Python's name."""
    if language == "html":
        codec = _page_encoding(data)
    else:
        rule = _encoding_rules().get(language)
        match = rule.match(data) if rule else None
        label = next(filter(None, match.groups()), b"").decode("latin-1") if match else ""
        codec = _web_codec(label) if language in ("css", "xml") else _python_codec(label)
    # who could read the declaration did not need it
    return "utf-8" if codec and codec.startswith("utf-16") else codec


@cache
def _encoding_rules() -> dict[str, re.Pattern[bytes]]:
    """Return the pattern of a declared encoding of each language that has one."""
    return ENCODING_RULES | {
        plugin.name: re.compile(rule.encode())
        for plugin in plugins_of("language")
        for rule in plugin.signs.encoding
    }


def _page_encoding(data: bytes) -> str | None:
    page = data[:SAMPLE_BYTES].decode("latin-1")
    # of the first `<meta>` that declares one (HTML standard, section 13.2.3.2)
    first_tags = MARKUP.finditer(page[:PRESCAN_BYTES])
    declared = (_meta_encoding(match[1] or "", match[0]) for match in first_tags)
    found = next(filter(None, declared), None) or declaration(data, "xml")
    if found or "charset" not in page[PRESCAN_BYTES:].lower():
        return found
    # a parser goes by one further below, too, where it is no text
    declared = (_meta_encoding(tag.name, page[tag.start : tag.end]) for tag in tags(page))
    return next(filter(None, declared), None)


def _media_encoding(media: str) -> str | None:
    match = CHARSET.search(media)
    return _web_codec(match[match.lastindex]) if match and match.lastindex else None


def _web_codec(label: str) -> str | None:
    """Return the codec of a label, by the table of the Encoding standard."""
    found = webencodings.lookup(label)
    if not found or found.name == "replacement":
        return None
    codec: str = found.codec_info.name
    return WEB_CODECS.get(found.name, codec)


def _python_codec(label: str) -> str | None:
    """Return the codec of a label in a program; Python's codecs have more names."""
    label = EMACS_LINE_ENDS.sub("", label)
    try:
        name = codecs.lookup(label).name
        if ASCII_PROBE.decode(name) != ASCII_PROBE.decode("ascii"):
            return None
    except (LookupError, ValueError):
        return None
    return _web_codec(label) or _web_codec(name) or name


def _meta_encoding(name: str, tag: str) -> str | None:
    """Return the encoding that a `<meta>` declares; `charset` counts before a content type."""
    if name.lower() != "meta" or not tag.endswith(">"):
        return None
    found = attributes(tag)
    if "charset" in found:
        return _web_codec(found["charset"])
    if found.get("http-equiv", "").lower() != "content-type":
        return None
    return _media_encoding(found.get("content", ""))


def _replace_as_on_the_web(error: UnicodeError) -> tuple[str, int]:
    """Replace a wrong byte by U+FFFD or, in windows-125x, by a control character, as on the web."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    byte = error.object[error.start]
    control = error.encoding == "charmap" and byte < 0xA0
    return chr(byte) if control else "\ufffd", error.end


WEB_ERRORS = "structkit-web"
codecs.register_error(WEB_ERRORS, _replace_as_on_the_web)


def _guess(data: bytes, first_wrong: int) -> str:
    """Return the codec of a text that declares none, with its first byte that is not UTF-8."""
    non_ascii = len(data.translate(None, ASCII_BYTES))
    replaced = data.decode("utf-8", "replace").count("\ufffd")
    if 3 * (replaced - data.count("\ufffd".encode())) <= non_ascii:  # texts in others have 3 of 8
        return "utf-8"
    start = data.rfind(b"\n", 0, max(0, first_wrong - SAMPLE_BYTES // 2)) + 1
    sample = data[start : start + SAMPLE_BYTES]
    lines = [line for line in sample.splitlines(keepends=True) if not line.isascii()]
    pieces = min(MAX_PIECES, len(sample.translate(None, ASCII_BYTES)) // PIECE_BYTES)
    size = -(-len(lines) // max(pieces, 1))
    votes = Counter[str]()
    for at in range(0, len(lines), size):
        piece = b"".join(lines[at : at + size])
        votes[_guess_of_piece(piece)] += len(piece.translate(None, ASCII_BYTES))
    return votes.most_common(1)[0][0]


def _guess_of_piece(piece: bytes) -> str:
    """Return the most probable codec, if there is evidence for it."""
    evidence = len(b"".join({*NON_ASCII_WORD.findall(piece)}).translate(None, ASCII_BYTES))
    if evidence < MIN_EVIDENCE_BYTES:
        return DEFAULT_CODEC
    probable = _probabilities(piece)
    of_default = probable.get(DEFAULT_CODEC, 0)
    codec = max(probable, key=probable.__getitem__, default=DEFAULT_CODEC)
    odds = 1.1 + MIN_EVIDENCE_BYTES / evidence if codec in LATIN_CODECS else BEYOND_LATIN_ODDS
    return codec if probable.get(codec, 0) > odds * of_default else DEFAULT_CODEC


def _probabilities(piece: bytes) -> dict[str, float]:
    """Return the probability of each codec; one with a wrong byte is left out."""
    import chardet  # 50 ms, and a guess is rarely needed

    found = chardet.detect_all(
        piece,
        ignore_threshold=True,
        compat_names=False,
        include_encodings=[DEFAULT_CODEC, *LATIN_CODECS, *BEYOND_LATIN_CODECS],
    )
    return {each["encoding"]: each["confidence"] for each in found if each["encoding"]}
