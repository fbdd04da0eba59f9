#!/usr/bin/env python3
"""Draws the circles of files: those that name each other, by `use` and by paths in the code, tests aside.

    python3 .ci/circles.py        # from the root; fails over MOST circles, or where one has over WIDEST files

The adapter's crate stands aside: everything there names the device.
"""

import collections
import os
import re
import sys

MOST, WIDEST = 10, 4
# Files and names of others in them, less than which this program would have read something else.
FEWEST_FILES, FEWEST_NAMES = 500, 3000
ASIDE = "crates/gpu/src"
TEST = re.compile(r"(^|/)(tests|contract_tests)\.rs$|_tests\.rs$")


def modules():
    """Returns the file of each module, by crate and path."""
    found = {}
    roots = {f"privateer_{name}": f"crates/{name}/src" for name in os.listdir("crates")} | {"privateer": "src"}
    for crate, root in roots.items():
        for folder, _, names in os.walk(root):
            for name in (name for name in names if name.endswith(".rs") and name != "main.rs"):
                path = os.path.relpath(os.path.join(folder, name), root)[:-3].split("/")
                path = path[:-1] if path[-1] == "mod" or path == ["lib"] else path
                found[(crate, tuple(path))] = os.path.join(folder, name)
    return found


def bare(text):
    """Returns code without comments, texts and the module of tests at its end."""
    text = re.sub(r"""'(?:[^'\\\n]|\\.)'|"(?:[^"\\]|\\.)*"|//[^\n]*""", lambda found: "" if found[0][0] == "/" else '""', text)
    tests = re.search(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod \w+ \{", text)
    return text[: tests.start()] if tests else text


def imports(tree, prefix=()):
    """Yields the path and the name of everything that the tree of a `use` names."""
    depth, part, parts = 0, "", []
    for letter in tree:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    for part in (part.strip() for part in [*parts, part]):
        nested = re.match(r"^([\w:\s]*?)\{(.*)\}$", part, re.S)
        if nested:
            start = tuple(word for word in nested.group(1).replace(" ", "").split("::") if word)
            yield from imports(nested.group(2), prefix + start)
        elif part:
            path, *name = re.split(r"\s+as\s+", part)
            path = prefix + tuple(word.strip() for word in path.split("::") if word.strip())
            path = path[:-1] if path[-1] == "self" else path
            yield path, name[0] if name else path[-1]


class Files:
    """The files, what each defines, and what each names."""

    def __init__(self):
        self.file_of = modules()
        self.module_of = {file: module for module, file in self.file_of.items()}
        self.code = {file: bare(open(file, encoding="utf-8").read()) for file in self.module_of}
        use = re.compile(r"(?:^|[\n;{}])\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
        self.uses = {file: [name for tree in use.findall(code) for name in imports(tree)] for file, code in self.code.items()}
        kinds = r"\b(?:fn|struct|enum|trait|type|const|static|union|macro_rules!|mod)\s+(\w+)"
        self.defined = {file: set(re.findall(kinds, code)) for file, code in self.code.items()}

    def file(self, module, path, seen=frozenset()):
        """Returns the file that defines what a path names from a module; None for what is not of this tree."""
        crates = {crate for crate, _ in self.file_of}
        for at, word in enumerate(path):
            if word == "crate":
                module = (module[0], ())
            elif word == "super":
                module = (module[0], module[1][:-1])
            elif at == 0 and word in crates:
                module = (word, ())
            elif (module[0], (*module[1], word)) in self.file_of:
                module = (module[0], (*module[1], word))
            elif word != "self":
                return self.item(module, path[at:], at, seen)
        return self.file_of.get(module)

    def item(self, module, path, at, seen):
        """Returns the file of an item of a module, which may take it from another."""
        file, key = self.file_of.get(module), (module, path[0])
        if file is None or path[0] in self.defined[file]:
            return file
        if key in seen:
            return None
        for used, name in self.uses[file]:
            rest = path[1:] if name == path[0] else path if name == "*" else None
            found = rest is not None and self.file(module, (used[:-1] if name == "*" else used) + rest, seen | {key})
            if found:
                return found
        return file if at else None

    def named(self, file):
        """Returns the files that a file names; lists of modules name nothing."""
        module, code = self.module_of[file], re.sub(r"\buse\s+[^;]+;", "", self.code[file])
        paths = [path[:-1] if path[-1] == "*" else path for path, _ in self.uses[file]]
        taken = {name: path for path, name in self.uses[file]}
        for start, end in re.findall(r"\b((?:[a-z_]\w*::)+)(\w+)", code):
            first, *rest = [word for word in start.split("::") if word] + [end]
            if first in taken or first in ("crate", "super", "self") or first.startswith("privateer_"):
                paths.append((*taken.get(first, (first,)), *rest))
        found = {self.file(module, path) for path in paths}
        return {other for other in found if other and other != file and self.counts(other)}

    def counts(self, file):
        return not TEST.search(file) and not file.endswith(("/mod.rs", "/lib.rs"))


def circles(named):
    """Returns the largest sets of files that reach each other (Tarjan)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(file):
        number[file] = lowest[file] = len(number)
        stack.append(file)
        for other in named.get(file, ()):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[file] = min(lowest[file], lowest[other])
        if lowest[file] == number[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for file in named:
        if file not in number:
            visit(file)
    return sorted(found, key=len, reverse=True)


def main():
    sys.setrecursionlimit(10_000)
    files = Files()
    named = {file: files.named(file) for file in files.module_of if files.counts(file)}
    n_names = sum(len(others) for others in named.values())
    if len(named) < FEWEST_FILES or n_names < FEWEST_NAMES:
        sys.exit(f"{len(named)} files with {n_names} names of others: is this the root of the project?")
    found = circles(named)
    for circle in found:
        folder = os.path.commonpath(circle)
        print(f"{len(circle)} files of {folder}")
        for file in circle:
            others = sorted(os.path.relpath(other, folder) for other in named[file] & set(circle))
            print(f"    {os.path.relpath(file, folder)} -> {', '.join(others)}")
    counted = [circle for circle in found if os.path.commonpath(circle) != ASIDE]
    if len(counted) > MOST or any(len(circle) > WIDEST for circle in counted):
        sys.exit(f"{len(counted)} circles beside the adapter's; at most {MOST}, of at most {WIDEST} files each")


if __name__ == "__main__":
    main()
