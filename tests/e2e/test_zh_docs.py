# SPDX-License-Identifier: Apache-2.0
"""The Chinese pages: options and defaults match the programs, links resolve, Python examples compile and use public names."""

import ast
import re
import subprocess

import pytest

from conftest import ROOT

PAGES = sorted((ROOT / "docs/zh").glob("*.md"))
COMMANDS = ("info", "report", "query", "export", "recover", "check")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
NOT_LISTED = {"--help", "--logdir"}  # of every program; of tensorboard


def page_text(name):
    return (ROOT / "docs/zh" / name).read_text()


def mentioned(text):
    """Options in a text, without the arguments of a recorded program: those follow a lone '--'."""
    return set(OPTION.findall(re.sub(r"(?m) -- .*$", "", text)))


def output(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=True, timeout=60).stdout


def option_rows(page):
    """The rows of a page's option tables: names of the option, and its default."""
    rows = re.findall(r"(?m)^\| `(--[^`]+)` \| (.*?) \|", page)
    return {tuple(OPTION.findall(names)): default for names, default in rows}


@pytest.fixture(scope="module")
def help_options(memscope):
    """Options that 'msmemscope --help' describes; not those that it only mentions in other options' texts."""
    described = re.findall(r"(?m)^  (?:source msmemscope )?((?:-[-\w\[\]=]+(?:, )?)+)", output(memscope, "--help"))
    options = set(OPTION.findall(" ".join(described)))
    assert {"--help", "--events", "--output-path", "--load-api-env", "--sync"} <= options  # the text is still read correctly
    return options


@pytest.fixture(scope="module")
def command_options(memscope):
    return {option for command in COMMANDS for option in mentioned(output(memscope, command, "--help"))}


def test_every_option_is_on_the_options_page(help_options):
    cells = " ".join(re.findall(r"(?m)^\| `([^`]+)` \|", page_text("options.md")))
    missing = help_options - set(OPTION.findall(cells))
    assert not missing, f"no row in docs/zh/options.md: {sorted(missing)}"


def test_options_on_the_options_page_exist(help_options, command_options):
    unknown = mentioned(page_text("options.md")) - help_options - command_options
    assert not unknown, f"docs/zh/options.md mentions options that do not exist: {sorted(unknown)}"


def test_defaults_on_the_options_page_are_those_of_the_program(memscope):
    ours, theirs = option_rows(page_text("options.md")), option_rows(output(memscope, "--help=md"))
    assert ours.keys() == theirs.keys()
    for names, default in theirs.items():
        if default in ("none", "off") or " " in default:  # words, which the page translates
            assert ours[names], f"{names} has no default in docs/zh/options.md"
        else:
            assert ours[names] == default, f"default of {names} in docs/zh/options.md"


def test_options_on_the_monitor_page_exist(build):
    programs = build / "src/cli"
    known = NOT_LISTED | set(OPTION.findall(output(programs / "dyno/dyno", "completion", "markdown")))
    known |= set(OPTION.findall(output(programs / "dynolog/dynolog", "--help_markdown")))
    known = {option.replace("_", "-") for option in known}  # dynolog accepts both
    unknown = {option for option in mentioned(page_text("monitor.md")) if option.replace("_", "-") not in known}
    assert not unknown, f"docs/zh/monitor.md mentions options that do not exist: {sorted(unknown)}"


def anchors(path):
    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", path.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/README.md", *PAGES],
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()) if "://" not in link]
    assert links
    for link in links:
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page}: {link}"
        assert not anchor or anchor in anchors(target), f"{page}: {link}"


def test_english_pages_link_to_the_chinese_ones():
    assert (ROOT / "README.md").read_text().startswith("[中文](docs/zh/README.md)\n")
    assert "](zh/README.md)" in (ROOT / "docs/README.md").read_text()


def snippets(page):
    return re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text())


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_python_examples_compile_and_use_public_names(page):
    package = ast.parse((ROOT / "python/msmemscope/__init__.py").read_text())
    public = next(ast.literal_eval(node.value) for node in package.body
                  if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")
    for code in snippets(page):
        tree = ast.parse(code, filename=page.name)
        compile(tree, page.name, "exec")
        used = {node.attr for node in ast.walk(tree)
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "msmemscope"}
        used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "msmemscope"
                 for alias in node.names}
        assert used <= set(public), f"{page.name}: not public: {used - set(public)}"


def test_python_page_has_examples():
    assert len(snippets(ROOT / "docs/zh/python.md")) >= 5
