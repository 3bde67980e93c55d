# SPDX-License-Identifier: Apache-2.0
"""The HTML report in a real browser: numbers, hovering, zooming, tables, themes, narrow windows, print, hostile names."""

import json
import re
import shutil
import subprocess

import pytest

from browser import Browser
from conftest import ROOT, Softnpu
from recorder import wait_until

HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"
MIB = 1 << 20
STEPS = 6


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    window = Browser(tmp_path_factory.mktemp("profile"))
    yield window
    window.close()


class Pages:
    """Recordings of acl-train, and their reports as page and JSON; each is made once."""

    def __init__(self, build, folder):
        self.machine, self.build, self.folder = Softnpu(), build, folder
        self.command, self.recorded = str(build / "msmemscope" / "bin" / "msmemscope"), {}

    def recording(self, *options):
        if options not in self.recorded:
            out = self.folder / f"run{len(self.recorded)}"
            done = self.machine.run(self.command, f"--output={out}", "--call-stack=c", "--events=alloc,free,access,launch",
                                    "--analysis=none", "--", self.build / "examples" / "acl-train", "--steps", STEPS, *options)
            assert done.returncode == 0, done.stderr
            self.recorded[options] = out
        return self.recorded[options]

    def report(self, *sources, expect=0):
        page = self.folder / "report.html"
        done = self.machine.run(self.command, "report", *sources, "--html", page, "--json")
        assert done.returncode == expect, done.stderr
        return page, json.loads(done.stdout)


@pytest.fixture(scope="module")
def pages(build, tmp_path_factory):
    made = Pages(build, tmp_path_factory.mktemp("pages"))
    yield made
    made.machine.close()


def size(text):
    """'10.1 MiB' as bytes, and the rounding error."""
    number, unit = re.match(r"\s*([\d.]+)\s*([KMGT]?i?B)", text).groups()
    factor = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)
    return float(number) * factor, factor * 10.0 ** -len(number.partition(".")[2])


def says(text, value):
    shown, off = size(text)
    return abs(shown - value) <= off


def assert_quiet(browser):
    """The policy refused nothing, and nothing failed."""
    assert browser.messages == []


def test_a_leak_is_shown(browser, pages, tmp_path):
    page, report = pages.report(pages.recording("--leak"))
    device = report["processes"][0]["devices"][0]
    assert page.stat().st_size < 3_000_000
    browser.resize(1600, 1000)
    browser.open(page)
    assert_quiet(browser)
    assert "acl-train" in browser.run("return document.title")

    verdict = browser.text(".verdict-line")
    assert says(verdict.split("Peak of ")[1], device["peak"]["used_b"])
    assert f"step {device['peak']['step']}" in verdict
    best = max(finding["saves_peak_b"] for finding in device["advice"])
    assert best >= (STEPS - 2) * MIB and says(verdict.split("lowers it by ")[1], best)

    card = browser.texts(".card")[0]
    assert "Leak" in card and "off the peak" in card and "plant_leak" in card and says(card, best)
    assert "plant_leak" in browser.text(".table[aria-label], .table") and browser.run("return document.querySelectorAll('.tm-leaf').length") > 3
    titles = browser.texts("h3")
    for title in ("Memory over time", "What to change", "What was live at the peak", "Memory account", "Growth from step to step",
                  "Operators"):
        assert title in titles
    # the table of contents links to every section
    assert browser.texts("nav li a") == titles
    assert browser.run("return [...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))")
    # the account adds up to its last line
    ledger = browser.texts(".ledger tbody:first-child td.number:nth-child(3)")
    (whole,) = browser.texts(".ledger .total td.number:nth-child(3)")
    assert abs(sum(size(part)[0] for part in ledger) - size(whole)[0]) < 0.02 * size(whole)[0]
    # one bar per step
    assert browser.run("return document.querySelectorAll('.growth-bar').length") == STEPS

    png = browser.screenshot(tmp_path / "light.png")
    assert browser.colours(png) > 100


def test_hovering_and_zooming(browser, pages):
    page, _ = pages.report(pages.recording("--leak"))
    browser.resize(1400, 900)
    browser.open(page)
    assert browser.text(".tip").strip() == ""
    browser.pointer(".plot", (100, 20))
    tip = browser.text(".timeline .tip")
    assert re.search(r"step \d", tip) and re.search(r"[\d.]+\s[KMG]iB", tip), tip
    later = browser.run("return document.querySelector('.cursor').getAttribute('x1')")
    browser.keys(".plot", "\ue014")  # arrow to the right
    assert float(browser.run("return document.querySelector('.cursor').getAttribute('x1')")) > float(later)

    ticks = browser.texts(".plot .tick")
    assert browser.run("return document.querySelector('.reset').hidden")
    browser.pointer(".plot", (-200, 0), "down", (-100, 10), (100, 10), "up")
    assert not browser.run("return document.querySelector('.reset').hidden")
    assert browser.texts(".plot .tick") != ticks
    browser.click(".reset")
    assert browser.texts(".plot .tick") == ticks
    browser.keys(".plot", "+")
    assert browser.texts(".plot .tick") != ticks
    browser.keys(".plot", "0")
    assert browser.texts(".plot .tick") == ticks

    # an owner can be hidden
    areas = browser.run("return document.querySelectorAll('.plot .area').length")
    browser.click(".legend button", browser.run("return document.querySelectorAll('.timeline .legend')[0].children.length") - 1)
    assert browser.run("return document.querySelectorAll('.timeline .plot')[0].querySelectorAll('.area').length") < areas
    assert_quiet(browser)


def test_tables(browser, pages):
    page, _ = pages.report(pages.recording("--leak"))
    browser.open(page)
    operators = "[id$=operators] "
    calls = operators + "tbody td:nth-child(2)"
    assert len(browser.texts(calls)) > 5
    for order in ("descending", "ascending"):
        browser.click(operators + "th button", 1)
        assert browser.run("return document.querySelectorAll(arguments[0])[1].getAttribute('aria-sort')", operators + "th") == order
        numbers = [int(re.sub(r"\D", "", text)) for text in browser.texts(calls)]
        assert numbers == sorted(numbers, reverse=order == "descending") and len(set(numbers)) > 1
    browser.keys(operators + "input", "layer_norm")
    left = browser.texts(operators + "tbody td:first-child")
    assert left and all("layer_norm" in name for name in left)
    browser.keys(operators + "input", " nothing has this name")
    assert "Nothing matches." in browser.text(operators + ".table-note")


def test_themes_windows_and_paper(browser, pages, tmp_path):
    page, _ = pages.report(pages.recording("--leak"))
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.prefer("dark")
    browser.open(page)
    dark = browser.run(ground)
    browser.prefer("light")
    browser.open(page)
    light = browser.run(ground)
    assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 200 < 600 < sum(map(int, re.findall(r"\d+", light)[:3]))
    browser.click("#theme")
    assert browser.run(ground) == dark
    browser.open(page)
    assert browser.run(ground) == dark, "the choice is remembered"
    png = browser.screenshot(tmp_path / "dark.png")
    browser.open(page)
    browser.click("#theme")
    for width in (1600, 1000, 700, 390):
        browser.resize(width, 800)
        browser.open(page)
        assert browser.run("return document.documentElement.scrollWidth") <= width, width
        plot = browser.run("const r = document.querySelector('.plot').getBoundingClientRect(); return [r.left, r.right]")
        assert 0 <= plot[0] < plot[1] <= width
    paper = browser.print()
    assert paper[:5] == b"%PDF-" and len(re.findall(rb"/Type\s*/Page\b", paper)) >= 2
    assert browser.colours(png) > 100
    browser.resize(1600, 1000)


def test_ranks(browser, pages):
    clean, leaking = pages.recording(), pages.recording("--leak")
    page, report = pages.report(clean, leaking)
    browser.resize(1600, 1000)
    browser.open(page)
    departure = report["ranks"]["departure"]
    assert browser.text(".finding") == departure["text"] and "plant_leak" in browser.text("#overview table tbody")
    cells = browser.run("return [...document.querySelectorAll('.field tbody tr')].map(r => [...r.querySelectorAll('td')].map(c => c.title))")
    assert len(cells) == 2 and all(len(row) == STEPS for row in cells)
    assert says(cells[1][-1].split(": ")[1], report["ranks"]["ranks"][1]["peak_b"][-1])
    first = browser.run("return [...document.querySelectorAll('.field td.first')].map(c => c.title)")
    assert len(first) == 1 and f"step {departure['step']}:" in first[0]
    assert browser.run("return [...document.querySelectorAll('.field a')].every(a => document.querySelector(a.hash))")
    assert_quiet(browser)


def test_many_ranks(browser, pages, tmp_path):
    """A page of 64 ranks opens: the details of a rank are drawn when it is opened."""
    clean = pages.recording()
    ranks = [clean, *(shutil.copytree(clean, tmp_path / f"rank{i}") for i in range(1, 64))]
    page, report = pages.report(*ranks)
    assert page.stat().st_size < 12 * MIB
    browser.open(page)
    assert browser.run("return document.querySelectorAll('.field tbody tr').length") == 64
    assert browser.run("return document.querySelectorAll('nav h2 a').length") == 64  # without a line for each host
    assert browser.run("return document.querySelectorAll('*').length") < 20000
    last = browser.run("const all = [...document.querySelectorAll('.field a')]; all.at(-1).scrollIntoView(); all.at(-1).click();"
                       "return all.at(-1).hash")
    wait_until(lambda: browser.run(f"return document.querySelector('{last}').querySelectorAll('svg.plot').length") > 0)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert_quiet(browser)


HOSTILE = "</script><img src=x onerror=window.pwned=1><script>window.pwned=1</script>"


def hostile_dump(path):
    """A dump in which every text is an attack; quotes are doubled as in any CSV file."""
    def cell(text):
        return '"' + text.replace('"', '""') + '"'
    rows, at = [], 0

    def row(event, kind, name, ptr="N/A", attr="", stack=""):
        nonlocal at
        rows.append(f"{at},{event},{kind},{cell(name)},{1000000 + at * 1000},7,7,0,{ptr},{cell(attr)},,{cell(stack)}")
        at += 1
    for step in range(1, 4):
        row("MSTX", "Range_start", f"step start {step}" if step < 3 else "step start", attr="streamId:-1,rangeId:" + str(step))
        row("MSTX", "Mark", HOSTILE + "\u2028" + "<!--<script>", attr="streamId:0")
        name = f"{HOSTILE}{step}"
        row("OP_LAUNCH", "ATEN_START", name)
        for i in range(3):
            address = f"0x{0x124000000000 + (step * 8 + i) * 0x200000:016x}"
            attr = (f"{{allocation_id:{step * 8 + i},addr:{address},size:{MIB},total:{64 * MIB},used:{(step * 3 + i) * MIB},"
                    f"owner:PTA@ops@{HOSTILE.replace(',', '')}}}")
            row("MALLOC", "PTA", "N/A", address, attr, f"{HOSTILE}.so(f+0x1) [0x7f0000000001]\n")
        row("OP_LAUNCH", "ATEN_END", name)
        row("MSTX", "Range_end", "step start", attr="streamId:-1,rangeId:" + str(step))
    path.write_text(HEADER + "\n".join(rows) + "\n")


def test_hostile_names(browser, pages, tmp_path):
    folder = tmp_path / "<img src=x onerror=window.pwned=1>"
    folder.mkdir()
    dump = folder / "memscope_dump_1.csv"
    hostile_dump(dump)
    page, report = pages.report(dump)
    text = page.read_text(encoding="utf-8")
    assert text.count("</script>") == 2 and "\u2028" not in text
    browser.open(page)
    assert browser.run("return window.pwned ?? null") is None
    assert browser.run("return document.images.length + document.querySelectorAll('iframe, object, embed, link').length") == 0
    assert browser.run("return document.scripts.length") == 2
    assert "onerror" in browser.text("main"), "names are shown verbatim"
    assert "onerror" in json.dumps(report)
    assert_quiet(browser)


def test_nothing_to_show(browser, pages, tmp_path):
    dump = tmp_path / "memscope_dump_1.csv"
    dump.write_text(HEADER + "0,KERNEL_LAUNCH,KERNEL_LAUNCH,Add,1000,1,1,0,N/A,\"{streamId:3,taskId:1}\",,\n")
    page, _ = pages.report(dump)
    browser.open(page)
    assert browser.text("main") != ""
    assert_quiet(browser)


def test_out_of_memory(browser, pages, tmp_path):
    """The refused request comes first, whatever can be saved."""
    dump = tmp_path / "memscope_dump_1.csv"
    rows = [f'{i},MALLOC,HAL,N/A,{1000 + i},7,7,0,0x{0x100000 * (i + 1):016x},"{{allocation_id:{i + 1},addr:0x{0x100000 * (i + 1):016x},'
            f'size:{MIB}}}",,' for i in range(5)]
    rows.append(f'5,OOM_DETAIL,OOM_TRIGGER,N/A,2000,7,7,0,N/A,"{{func:halMemAlloc,req_size:{4 * MIB},flag:0}}",,')
    dump.write_text(HEADER + "\n".join(rows) + "\n")
    page, _ = pages.report(dump)
    browser.open(page)
    assert "The driver refused a request of 4\u00a0MiB." in browser.text(".verdict-line")
    assert "refused by the driver" in browser.texts(".card")[0]
    assert "step" not in browser.text(".verdict-line"), "there were none"
    assert_quiet(browser)


def test_files(softnpu, memscope, pages, tmp_path):
    run = pages.recording("--leak")
    for bad in ("no/such/page.html", "."):
        done = softnpu.run(memscope, "report", run, "--html", tmp_path / bad)
        assert done.returncode == 2 and str(tmp_path / bad) in done.stderr and done.stdout == ""
    page = tmp_path / "page.html"
    page.write_text("before")
    done = softnpu.run(memscope, "report", run, f"--html={page}")
    assert done.returncode == 0 and done.stdout == "" and f"create file {page}." in done.stderr
    assert page.read_text().startswith("<!doctype html>"), "an existing report is replaced"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"], "and nothing else is left"


def test_types():
    """The page's script type-checks."""
    done = subprocess.run(["tsc", "-p", str(ROOT / "web" / "report")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
