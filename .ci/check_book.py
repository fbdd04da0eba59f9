"""Fails on links to missing files or headings in the built book and in other Markdown files, and on pages outside the book.

Usage: python3 .ci/check_book.py BOOK
"""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collects the anchors and links of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for key, value in attributes:
            if key == "id" and value:
                self.anchors.add(value)
            if value and (tag, key) in {("a", "href"), ("img", "src")}:
                self.links.append(value)


def main() -> None:
    book = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in book.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        if path.name in {"404.html", "print.html", "toc.html"}:
            continue
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.exists():
                wrong.append(f"{path.relative_to(book)}: {link}: no such file")
            elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors:
                wrong.append(f"{path.relative_to(book)}: {link}: no such heading")
    chapters = set(re.findall(r"\]\(([^)]+\.md)\)", Path("docs/SUMMARY.md").read_text(encoding="utf-8")))
    sources = {str(path.relative_to("docs")) for path in Path("docs").rglob("*.md")} - {"SUMMARY.md"}
    wrong += [f"docs/{name}: not in docs/SUMMARY.md" for name in sorted(sources - chapters)]
    listed = subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True).stdout.split()
    for path in (Path(name) for name in listed if not name.startswith("docs/")):
        for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
            url = urlsplit(link)
            if not url.scheme and url.path and not (path.parent / unquote(url.path)).exists():
                wrong.append(f"{path}: {link}: no such file")
    print("\n".join(wrong) or f"{len(pages)} pages: every link leads somewhere")
    sys.exit(bool(wrong))


main()
