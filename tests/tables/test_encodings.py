"""Encodings of text files: declared ones, Western letters, and refusals of all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench import Table, TableError
from pytest_tablebench.tables.text_files import decode

WESTERN = [
    "name,n\nJosé,3\n",
    "Größe,Preis\nä,5 €\n",
    "État,où\n« Été »,3 m²\n",
    "Ciudad,¿Dónde?\nA Coruña,½\n",
    "Ødegård,Smørrebrød\nÆ,1\n",
    "São Paulo,Ações\n",
    "Sørensen,Müller\nL’Haÿ,“x”\n",
    "Þingvellir,Ísland\n",
    "°C,µg\n−\n".replace("−", "–"),
]
OTHERS = {
    "gb18030": "名称,数量\n茶,5\n",
    "cp932": "国,値\n日本,5\n",
    "euc-jp": "月,値\n3月,5\n",
    "cp949": "월,값\n3월,5\n",
    "big5": "名稱,數量\n茶,5\n",
    "cp1251": "имя,n\nДа,5\n",
    "koi8-r": "имя,n\nДа,5\n",
    "cp1253": "όνομα,n\nΝαι,5\n",
    "cp1250": "město,n\nPlzeň,5\nTřebíč,6\n",
    "cp1254": "şehir,n\nÇankırı,5\n",
    "cp1255": "שם,n\nכן,5\n",
    "cp874": "ชื่อ,n\nชา,5\n",
}
PAGES = [
    ("gb2312", "gb18030", "茶"),
    ("Shift_JIS", "cp932", "日本①"),
    ("euc-kr", "cp949", "차"),
    ("big5", "big5hkscs", "茶"),
    ("windows-1251", "cp1251", "чай"),
    ("ISO-8859-1", "cp1252", "5 €"),
    ("iso-8859-2", "iso-8859-2", "čaj"),
    ("utf-8", "utf-8", "茶"),
]
DECLARATIONS = [
    "<meta charset={}>",
    '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset={}">',
    '<?xml version="1.0" encoding="{}"?>',
    "<!-- <meta charset=koi8-r> --><meta charset='{}'>",
]


@pytest.mark.parametrize("text", WESTERN)
def test_text_of_western_languages_is_read(text: str) -> None:
    assert decode(text.encode("cp1252"))[0] == text


@pytest.mark.parametrize("encoding", OTHERS)
def test_other_text_is_refused_unless_its_encoding_is_named(encoding: str) -> None:
    data = OTHERS[encoding].encode(encoding)
    with pytest.raises(TableError, match=r"line 1 is not UTF-8.* tablebench.toml, such as"):
        decode(data)
    assert decode(data, encoding=encoding) == (OTHERS[encoding], encoding)


def test_the_named_encoding_is_for_files_that_are_not_utf_8() -> None:
    assert decode("茶\n".encode(), encoding="gb18030") == ("茶\n", None)
    with pytest.raises(TableError, match="is neither UTF-8 nor cp932"):
        decode(b"\xe9\n", encoding="cp932")


def test_bytes_that_are_control_characters_are_no_text() -> None:
    with pytest.raises(TableError, match="line 2 is not UTF-8"):
        decode(b"a,b\n\x81\x8d,1\n")


@pytest.mark.parametrize(("label", "encoding", "text"), PAGES)
@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_a_page_is_read_in_the_encoding_that_it_declares(
    declaration: str, label: str, encoding: str, text: str, tmp_path: Path
) -> None:
    page = f"{declaration.format(label)}<table><tr><td>{text}</table>\n"
    (tmp_path / "a.html").write_bytes(page.encode(encoding))
    assert Table.from_html(tmp_path / "a.html").header == (text,)


def test_a_byte_order_mark_counts_more_than_a_declaration(tmp_path: Path) -> None:
    page = "<meta charset=gb2312><table><tr><td>茶</table>"
    (tmp_path / "a.html").write_bytes(page.encode("utf-8-sig"))
    assert Table.from_html(tmp_path / "a.html").header == ("茶",)
