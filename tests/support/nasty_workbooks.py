"""Workbooks that no spreadsheet program writes."""

from __future__ import annotations

import zipfile
from pathlib import Path

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def nasty_workbook(path: Path, sheet: str, shared: str = "") -> Path:
    """Write a workbook whose only sheet, `S`, has this XML; return its path.

    `shared` is the XML of shared texts: `<si><t>a</t></si>`.
    """
    strings = f"<sst xmlns='{_MAIN}'>{shared}</sst>"
    parts = {
        "[Content_Types].xml": f"<Types xmlns='{_PACKAGE}/content-types'>"
        "<Default Extension='rels' "
        "ContentType='application/vnd.openxmlformats-package.relationships+xml'/>"
        f"<Override PartName='/xl/workbook.xml' ContentType='{_TYPE}.sheet.main+xml'/>"
        f"<Override PartName='/xl/sharedStrings.xml' ContentType='{_TYPE}.sharedStrings+xml'/>"
        f"<Override PartName='/xl/worksheets/sheet1.xml' ContentType='{_TYPE}.worksheet+xml'/>"
        "</Types>",
        "_rels/.rels": f"<Relationships xmlns='{_PACKAGE}/relationships'><Relationship Id='r1' "
        f"Type='{_OFFICE}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
        "xl/workbook.xml": f"<workbook xmlns='{_MAIN}' xmlns:r='{_OFFICE}'><sheets>"
        "<sheet name='S' sheetId='1' r:id='r1'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{_PACKAGE}/relationships'>"
        f"<Relationship Id='r1' Type='{_OFFICE}/worksheet' Target='worksheets/sheet1.xml'/>"
        "</Relationships>",
        "xl/sharedStrings.xml": strings,
        "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{_MAIN}'>{sheet}</worksheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path
