"""Shows the tutorials of examples/tutorials as pages: code, what it prints and its figures.

Results are those of the last run here, by the tests or by `python -m examples.percent_scripts`; a tutorial that was
not run yet is shown without results.
"""

import base64
import io
import re
from typing import Any

from mkdocs.structure.files import File, Files
from nbformat import NotebookNode, writes
from PIL import Image

from examples.percent_scripts import SCRIPTS, kept, notebook_of

_SOURCE = "examples/tutorials"
_LARGER = 1.3  # text of a figure as large as that of the page


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs with all files of the site."""
    for script in SCRIPTS:
        notebook = kept(script) or notebook_of(script)
        page, pictures = markdown(notebook, script.stem)
        for name, content in {f"{script.stem}.md": page, f"{script.stem}.ipynb": writes(notebook), **pictures}.items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with each page's text: links to scripts, which a code host shows, lead to their pages here."""
    is_list = page.file.src_uri == "tutorials/index.md"
    return re.sub(rf"\(\.\./\.\./{_SOURCE}/(\w+)\.py\)", r"(\1.md)", markdown) if is_list else markdown


def markdown(notebook: NotebookNode, name: str) -> tuple[str, dict[str, bytes]]:
    """Returns a notebook as a page, and its pictures by the names of their files."""
    pieces: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            pieces.append(cell.source)
            continue
        pieces.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            picture = f"{name}-{len(pictures) + 1}.png"
            pieces.append(_output(output, picture))
            if "image/png" in output.get("data", {}):
                pictures[picture] = base64.b64decode(output.data["image/png"])
    files = f"[As a notebook, with its results]({name}.ipynb){{ download }}; as a script: `{_SOURCE}/{name}.py`."
    return "\n\n".join([*pieces[:1], files, *pieces[1:]]) + "\n", pictures


def _output(output: NotebookNode, picture: str) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    if "image/png" in output.data:
        return f'![What the code above shows]({picture}){{ width="{_width(output.data["image/png"])}" }}'
    if "text/html" in output.data:
        return f'<div class="output" markdown="0">{output.data["text/html"]}</div>'
    return f"```text\n{output.data['text/plain']}\n```"


def _width(picture: str) -> int:
    """Returns how wide a picture is shown: a figure in its own size, which has pixels to spare."""
    with Image.open(io.BytesIO(base64.b64decode(picture))) as opened:
        return round(opened.width * 96 / opened.info.get("dpi", (96, 96))[0] * _LARGER)
