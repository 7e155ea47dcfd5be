"""Reads PDFs with PDFium: of each its title, pages, their size in points, text and what is drawn on them."""
import json
import pathlib
import sys

import pypdfium2

SCALE = 1.0  # 72 dots an inch: one a point
EDGE = 12  # points that no printer reaches: nothing may stand there


def page_of(page):
    width, height = page.get_size()
    pixels = page.render(scale=SCALE, grayscale=True).to_numpy().reshape(round(height * SCALE), -1)[:, : round(width * SCALE)]
    inked = pixels < 200
    inner = inked[EDGE:-EDGE, EDGE:-EDGE]
    return {
        "box": [round(width), round(height)],
        "text": page.get_textpage().get_text_range(),
        "ink": float(inked.mean()),
        "edge": int(inked.sum() - inner.sum()),
    }


found = {}
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.pdf")):
    with pypdfium2.PdfDocument(file) as document:
        found[file.stem] = {"title": document.get_metadata_value("Title"), "pages": [page_of(page) for page in document]}
print(json.dumps(found))
