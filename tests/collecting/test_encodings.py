"""Encodings: what a file declares by the rule of its language, and what is guessed without."""

import re
import tarfile
from pathlib import Path

import pytest
import webencodings
from html5lib._inputstream import HTMLBinaryInputStream
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.collecting.encodings import decode
from structkit.collecting.kinds import is_binary
from tests.jsonl import read, write
from tests.structure.code.sources import cases

SUITE = Path("../shared/data/conformance/html5lib.tar.xz")


WORD = b"\xe4\xb1\xe8"  # of which each encoding makes another text


def encoding_of(data, language="html", media=""):
    """The label whose encoding gives what was read."""
    text = decode(data + WORD, language, media)
    labels = ("utf-8", "windows-1252", "iso-8859-2", "windows-1251", "koi8-r", "shift_jis")
    [found] = [each for each in labels if text.endswith(webencodings.decode(WORD, each)[0])]
    return found


# the label, and the page that declares it to browsers, or another one that they take for none
DECLARED = Path(__file__).with_name("declared.txt").read_text("utf-8").splitlines()
DECLARED += [
    f"koi8-r: <!--{'x' * 2000}--><meta charset=koi8-r>",
    f"windows-1252: <!--{'x' * 2000}--><script>'<meta charset=koi8-r>'</script>",
]


@pytest.mark.parametrize("line", DECLARED)
def test_a_page_declares_its_encoding_as_browsers_read_it(line):
    expected, head = map(str.strip, line.split(":", 1))
    assert expected == encoding_of(head.encode())


def test_a_mark_counts_before_a_server_and_a_server_before_the_page():
    page, media = b"<meta charset=koi8-r>", "text/html; Charset = 'iso-8859-2'"
    assert "koi8-r" == encoding_of(page, media="text/html")
    assert "iso-8859-2" == encoding_of(page, media=media)
    assert "utf-8" == encoding_of(b"\xef\xbb\xbf" + page, media=media)
    assert "koi8-r" == encoding_of(page, media="text/html; charset=bogus")


@pytest.mark.parametrize(
    ("language", "head", "expected"),
    [*cases("encodings"), ("", "# coding: koi8-r\n", "windows-1252")],
)
def test_each_language_declares_by_its_own_rule(language, head, expected):
    assert expected == encoding_of(head.encode(), language)


def test_bytes_that_a_declared_encoding_does_not_have():
    page = b"<meta charset=latin1>\x80\x81\x9d"
    assert "€\x81\x9d" == decode(page, "html")[-3:]  # as browsers do
    assert "テ\ufffd<" == decode(b'<?xml encoding="shift_jis"?>\x83\x65\x81<', "xml")[-3:]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Gr\xc3\xb6\xc3\x9fe \xe4", "Größe \ufffd"),
        (b"na\xc3\xafve caf\xc3", "naïve caf\ufffd"),
        ("日本語の文".encode()[:-1], "日本語の\ufffd"),
        ("Größe".encode() + b"\xe2\x82!", "Größe\ufffd!"),
        ("привет".encode()[1:], "\ufffdривет"),
        (b"\xef\xbb\xbfa\xe4", "a\ufffd"),
        ("a\ud800b".encode("utf-16-le", "surrogatepass").join([b"\xff\xfe", b""]), "a\ufffdb"),
        ("ab".encode("utf-16") + b"c", "ab\ufffd"),
        ("aé".encode("utf-32"), "aé"),
        ("<?xml?>é".encode("utf-16-be"), "<?xml?>é"),
    ],
)
def test_a_wrong_byte_costs_one_character(data, text):
    assert text == decode(data)


WESTERN = Path(__file__).with_name("western.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("times", [1, 40])
@pytest.mark.parametrize("text", WESTERN)
def test_short_western_texts_need_no_declaration(text, times):
    lines = f"{text}\n" * times
    assert lines == decode(lines.encode("cp1252"))


TEA = {
    "Чай заваривают горячей водой и пьют с лимоном или молоком.": "cp1251 koi8-r iso8859-5 cp866",
    "Чай заварюють гарячою водою, її п'ють із лимоном або молоком.": "cp1251 koi8-u",
    "Το τσάι ετοιμάζεται με ζεστό νερό και πίνεται με λεμόνι ή γάλα.": "cp1253 iso8859-7",
    "תה מכינים עם מים חמים ושותים אותו עם לימון או חלב.": "cp1255",
    "يحضر الشاي بالماء الساخن ويشرب مع الليمون أو الحليب.": "cp1256",
    "ชาชงด้วยน้ำร้อนและดื่มกับมะนาวหรือนม ชาเขียวไม่ควรต้ม": "cp874",
    "お茶はお湯でいれて、レモンやミルクと一緒に飲みます。緑茶は沸騰させません。": "cp932 euc-jp",
    "茶用热水冲泡，可以加柠檬或牛奶饮用。绿茶不能用沸水。": "gb18030 gbk",
    "茶用熱水沖泡，可以加檸檬或牛奶飲用。綠茶不能用沸水。": "big5",
    "차는 뜨거운 물로 우려서 레몬이나 우유와 함께 마십니다.": "cp949 euc-kr",
    "Herbatę parzy się gorącą wodą i pije z cytryną lub mlekiem. Zieloną herbatę zalewa się wodą, "
    "która nie wrze, żeby nie była gorzka. Świeże liście są najlepsze.": "iso8859-2 cp1250",
    "Čaj se zalévá horkou vodou a pije s citronem nebo mlékem. Zelený čaj se nesmí vařit, aby "
    "nezhořkl. Nejlepší jsou čerstvé lístky.": "iso8859-2 cp1250",
    "A teát forró vízzel öntik le, és citrommal vagy tejjel isszák. A zöld teát nem szabad "
    "forralni, mert keserű lesz, főleg ősszel.": "iso8859-2 cp1250",
    "Çay sıcak suyla demlenir, limon ya da sütle içilir. Yeşil çay kaynatılmaz, çünkü acılaşır; "
    "şekersiz içmek daha iyidir.": "cp1254",
}
LEGACY = [(text, codec) for text, codecs in TEA.items() for codec in codecs.split()]


@pytest.mark.parametrize(("text", "codec"), LEGACY)
def test_texts_of_the_world_need_no_declaration(text, codec):
    assert text == decode(text.encode(codec))
    commented = f"int tea(void); /* {text} */\n" + "int other(int number);\n" * 20
    assert commented == decode(commented.encode(codec))


@pytest.mark.parametrize(("text", "codec"), LEGACY)
def test_a_wrong_byte_costs_one_character_of_a_guess_too(text, codec):
    lines = [f"{number}. {text}\n" for number in range(20)]
    data = b"".join(line.encode(codec) for line in lines[:10])
    wrong = b"\xff" if codec.startswith(("cp9", "euc", "gb", "big5")) else b""
    data += wrong + b"\n" + b"".join(line.encode(codec) for line in lines[10:])
    found = decode(data).replace("\ufffd", "").replace("\uf8f3", "")
    assert "".join([*lines[:10], "\n", *lines[10:]]) == found


def suite():
    """The pages of html5lib's suite, and the label of each one's encoding."""
    if not SUITE.exists():
        pytest.skip(f"needs {SUITE}")
    with tarfile.open(SUITE) as packed:
        for member in packed.getmembers():
            if member.name.endswith(".dat") and "/encoding/" in member.name:
                for case in re.split(rb"(?:\A|\n)#data\n", packed.extractfile(member).read())[1:]:
                    page, _, label = case.partition(b"\n#encoding\n")
                    yield page, label.split(b"\n")[0].decode()


def test_the_suite_of_html5lib():
    found = list(suite())
    assert 82 == len(found)
    for page, label in found:
        if not page.isascii():  # what is declared shows only where it counts
            expected = webencodings.decode(page, label)[0]
            assert expected == decode(page, "html")
        text = decode(page + b"\n" + WORD, "html")
        assert webencodings.decode(WORD, label)[0] == text.rpartition("\n")[2]


NAMES = ("charset", "CHARSET", "http-equiv", "content", "name", "a")
LABELS = ("koi8-r", "latin1", "x-sjis", "utf-16", "iso-8859-2", "bogus", "")
VALUES = (
    *(*LABELS, "content-type", "refresh", "text/html"),
    *(f"text/html; charset={label}" for label in LABELS),
)
ATTRIBUTES = st.lists(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from((" ", "\n", "/", "\t ")),
        st.sampled_from(NAMES),
        st.sampled_from(("=", " = ", "=\f")),
        st.sampled_from(VALUES).map(lambda value: f'"{value}"'),
    ),
    max_size=3,
    unique_by=lambda attribute: attribute.lower().strip(" \n\t/").partition("=")[0].strip(),
).map("".join)
TAGS = st.builds("<{}{}>".format, st.sampled_from(("meta", "META", "p", "/p", "link")), ATTRIBUTES)
BITS = st.one_of(
    TAGS,
    TAGS.map(lambda tag: f"<!--{tag}-->"),
    TAGS.map(lambda tag: f"<!{tag}"),
    TAGS.map(lambda tag: f"<script>'{tag}'</script>"),
    st.sampled_from(("<!doctype html>", "text", "charset=koi8-r", "<!-->", "<!--->", "\n")),
)


@given(st.lists(BITS, max_size=8).map("".join))
@example('<!--><meta charset="koi8-r">')
@example('<!---><meta charset="koi8-r">--><meta charset="latin1">')
def test_random_pages_declare_what_they_declare_to_html5lib(page):
    # html5lib also asks the content type where the charset is unknown; the standard does not
    data = re.sub(r'(?i)(\scharset\s*=\s*)"(bogus|)"', r'\1"koi8-r"', page).encode() + b"\n" + WORD
    # the marks of a comment's begin may be those of its end, which html5lib does not see
    theirs = re.sub(b"<!--(?=-?>)", b"<!---->", data)
    stream = HTMLBinaryInputStream(theirs, default_encoding="windows-1252", useChardet=False)
    assert webencodings.decode(data, stream.charEncoding[0].name)[0] == decode(data, "html")


def test_a_server_may_say_that_a_text_has_two_bytes_a_character():
    data = "<p>Tea".encode("utf-16-le")
    assert is_binary(data)
    media = "text/html; charset=utf-16le"
    assert not is_binary(data, media)
    assert "<p>Tea" == decode(data, "html", media)


def test_files_are_read_by_the_rules_of_their_kinds(tmp_path, here):
    files = {
        "a.c": b'char *usage = "--encoding=utf-16"; /* na\xefve */\n',
        "b.html": b'<link charset="utf-16"><p>Gr\xf6\xdfe</p>',
        "c.html": b'<meta charset="utf-8"><p>Gr\xc3\xb6\xc3\x9fe \xe4</p>',
        "d.py": b'"""Gr\xf6\xdfe"""\nx = "coding: utf-16"\n',
        "run": b"#!/usr/bin/env python3\n# coding: koi8-r\nx = '\xd4\xc5\xc1'\n",
        "wide.txt": b"\xff\xfea\x00\x00\xd8b\x00",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = read(here("collect", ".", "--unit", "file").stdout)
    texts = {each["path"]: each.get("code") or each.get("html") or each["text"] for each in found}
    assert "naïve" in texts["a.c"]
    assert "Größe" in texts["b.html"]
    assert "Größe \ufffd" in texts["c.html"]
    assert "Größe" in texts["d.py"]
    assert "теа" in texts["run"]
    assert "a\ufffdb" == texts["wide.txt"]


def test_the_text_of_a_record_is_read_already(tmp_path, here):
    html, code = "<meta charset=latin1><title>Größe</title><p>Größe", "# coding: cp866\nö = 1\n"
    path = write(tmp_path / "r.jsonl", {"id": "1", "html": html}, {"id": "2.py", "code": code})
    found = read(here("collect", "--records", path, "--unit", "file").stdout)
    assert [html, code] == [found[0]["html"], found[1].get("code") or found[1]["text"]]
