// SPDX-License-Identifier: Apache-2.0
// The sections of a report, each built from its part of the view.

import { css } from "./colours";
import { append, clear, h, onWidth, s, style, type Child } from "./dom";
import { bytes, bytesParts, byteTicks, count, percent, shortOp, signedBytes } from "./format";
import { table } from "./table";
import { timeline } from "./timeline";
import { treemap } from "./treemap";
import type { Account, Advice, Fragmentation, Growth, Operator, Site, Subject, Verdict } from "./view";

/** A section with a heading that the table of contents links to. */
export function section(id: string, title: string, lead: Child, ...content: Child[]): HTMLElement {
    return h("section", { id, "aria-labelledby": `${id}-title` },
        h("h3", { id: `${id}-title` }, title),
        lead ? h("p", { class: "lead" }, lead) : null,
        content);
}

const figure = (value: number): Child => {
    const [number, unit] = bytesParts(value);
    return [number, h("span", { class: "unit" }, unit)];
};

const code = (text: string): Child => (text === "" ? null : h("code", { title: text }, shortOp(text)));

/** A call site: its name, and the whole call stack on demand. */
function siteCell(name: string, detail: string): Child {
    if (detail === "" || detail === name) {
        return h("span", { class: "site" }, name);
    }
    return h("details", { class: "site" }, h("summary", null, name), h("pre", null, detail));
}

function owner(name: string, colour: Subject["sites"][0]["colour"]): Child {
    return h("span", { class: "owner" }, style(h("span", { class: "swatch" }), { background: css(colour) }), name);
}

/** A number with a bar behind it. */
function barred(value: number, max: number, text: string): Child {
    return h("span", { class: "barred" },
        style(h("span", { class: "bar" }), { width: `${max > 0 ? Math.max(1, (100 * value) / max).toFixed(1) : 0}%` }),
        h("span", null, text));
}

// ---- header ----

export function verdict(subject: Subject): HTMLElement {
    const v: Verdict = subject.verdict;
    const best = subject.advice.reduce((most, advice) => Math.max(most, advice.saving), 0);
    const refused = subject.advice.reduce((most, advice) => Math.max(most, advice.refused), 0);
    return h("div", { class: "verdict" },
        h("p", { class: "verdict-line" },
            "Peak of ", h("strong", null, bytes(v.peak)), ` ${v.kind}`,
            v.step > 0 ? [" in ", h("strong", null, `step ${v.step}`)] : v.step === 0 ? " before the first step" : null,
            v.op ? [", in ", code(v.op)] : null,
            v.at ? `, ${v.at} after the start` : null, ".",
            refused > 0 ? [" The driver refused a request of ", h("strong", null, bytes(refused)), "."] : null,
            best > 0 ? [" The largest saving found lowers it by ", h("strong", null, bytes(best)),
                ` (${percent(best, v.peak)}).`] : " No change was found that would lower it by more than 1\u2009%."),
        h("dl", { class: "tiles" }, v.tiles.map((tile) => h("div", { class: tile.alarm ? "tile alarm" : "tile" },
            h("dt", null, tile.label),
            h("dd", null, tile.form === "bytes" ? figure(tile.value) :
                [(tile.value * 100).toFixed(tile.value < 0.1 ? 1 : 0), h("span", { class: "unit" }, "%")]),
            h("p", null, tile.note)))));
}

// ---- advice ----

/** The gain as one number: of the peak, else of what the pool holds, else the bytes at stake. */
function gain(advice: Advice, peak: number): Child {
    if (advice.refused > 0) {
        return [h("b", { class: "refused" }, figure(advice.refused)), h("span", null, "refused by the driver")];
    }
    if (advice.saving > 0) {
        return [h("b", null, figure(advice.saving)), h("span", null, `off the peak \u00b7 ${percent(advice.saving, peak)}`),
            h("span", { class: "meter" },
                style(h("span"), { width: `${Math.min(100, Math.max(1, (100 * advice.saving) / Math.max(peak, 1))).toFixed(1)}%` }))];
    }
    if (advice.returned > 0) {
        return [h("b", null, figure(advice.returned)), h("span", null, "returned to the driver")];
    }
    return [h("b", null, figure(advice.stake)), h("span", null, "at stake, not at the peak")];
}

function card(advice: Advice, peak: number): HTMLElement {
    return h("li", { class: advice.saving > 0 || advice.returned > 0 || advice.refused > 0 ? "card" : "card quiet" },
        h("div", { class: "card-figure" }, gain(advice, peak)),
        h("div", { class: "card-body" },
            h("h4", null, advice.title),
            h("p", { class: "do" }, advice.text),
            advice.remedy ? h("p", { class: "remedy" }, advice.remedy) : null,
            advice.site ? h("div", { class: "where" }, siteCell(advice.site, advice.detail)) : null,
            h("p", { class: "fine", title: advice.meaning }, advice.facts.join(" \u00b7 "))));
}

export function adviceCards(list: Advice[], peak: number): HTMLElement {
    const sorted = [...list].sort((a, b) => b.refused - a.refused || Number(a.minor) - Number(b.minor) || b.saving - a.saving || b.returned - a.returned ||
        b.stake - a.stake);
    const first = Math.min(6, sorted.filter((advice) => !advice.minor || advice.refused > 0).length);
    const element = h("ol", { class: "cards" }, sorted.slice(0, first).map((advice) => card(advice, peak)));
    const rest = sorted.length - first;
    const more = h("button", { type: "button", class: "more", click: () => {
        append(element, sorted.slice(first).map((advice) => card(advice, peak)));
        more.remove();
    } }, `Show ${count(rest)} ${sorted.slice(first).every((advice) => advice.minor) ? "minor finding" : "more finding"}${rest === 1 ? "" : "s"}`);
    return h("div", null,
        first === 0 ? h("p", { class: "nothing" }, "Nothing found that would save 1\u2009% of the peak or of pool memory.") : null,
        element, rest > 0 ? more : null);
}

// ---- the live set at the peak ----

export function liveSet(subject: Subject): HTMLElement {
    const whole = subject.live.reduce((sum, branch) => sum + branch.bytes, 0);
    const owned = subject.sites.some((row) => row.owner !== "\u2013");
    const most = subject.sites.reduce((max, row) => Math.max(max, row.bytes), 0);
    const sites = table<Site>(
        [
            ...(owned ? [{ title: "Owner", value: (row: Site) => `${row.owner} ${row.ownerDetail}`,
                show: (row: Site) => owner(row.owner, row.colour) }] : []),
            { title: "Call site", value: (row) => `${row.site}\n${row.detail}`, show: (row) => siteCell(row.site, row.detail), wide: true },
            { title: "Blocks", value: (row) => row.blocks, number: true, show: (row) => count(row.blocks) },
            { title: "Bytes", value: (row) => row.bytes, number: true, show: (row) => barred(row.bytes, most, bytes(row.bytes)) },
            { title: "Share", value: (row) => row.bytes / Math.max(whole, 1), number: true, show: (row) => percent(row.bytes, whole) },
        ], subject.sites, { label: "live memory at the peak" });
    const blocks = table(
        [
            { title: "Address", value: (row) => row.addr, show: (row) => h("code", null, row.addr) },
            { title: "Pool", value: (row) => row.pool },
            { title: "Owner", value: (row) => row.owner },
            { title: "Call site", value: (row) => `${row.site}\n${row.detail}`, show: (row) => siteCell(row.site, row.detail), wide: true },
            { title: "Step", value: (row) => row.step, number: true, show: (row) => (row.step > 0 ? row.step : "\u2013") },
            { title: "Bytes", value: (row) => row.bytes, number: true, show: (row) => bytes(row.bytes) },
        ], subject.blocks, { label: "largest blocks at the peak", rows: 10 });
    return h("div", null,
        treemap(subject.live, (branch, leaf) => {
            sites.filter(leaf ? leaf.name : branch.name);
            sites.element.scrollIntoView({ behavior: "smooth", block: "nearest" });
        }),
        sites.element,
        subject.blocks.length > 0 ? h("details", { class: "fold" }, h("summary", null, "Largest single blocks"), blocks.element) : null);
}

// ---- account of every byte ----

export function accountBar(account: Account): HTMLElement {
    const whole = Math.max(account.whole, 1);
    const bar = h("div", { class: "account-bar", role: "img",
        "aria-label": account.parts.map((part) => `${part.name} ${bytes(part.bytes)}`).join(", ") },
    account.parts.filter((part) => part.bytes > 0).map((part) => style(
        h("span", { class: `part ${part.kind}`, title: `${part.name}: ${bytes(part.bytes)}, ${percent(part.bytes, whole)}` },
            part.bytes / whole > 0.12 ? h("span", null, part.name) : null),
        { "--fill": css(part.colour), "flex-grow": String(part.bytes / whole) })));
    const row = (name: string, note: string, value: number, mark: HTMLElement | null, share: boolean): HTMLElement =>
        h("tr", null, h("td", null, mark, h("span", null, name)), h("td", { class: "note" }, note),
            h("td", { class: "number" }, bytes(value)), h("td", { class: "number" }, share ? percent(value, whole) : ""));
    const mark = (part: Account["parts"][0]): HTMLElement =>
        style(h("span", { class: `swatch ${part.kind}` }), { "--fill": css(part.colour) });
    return h("div", { class: "account" }, bar,
        h("div", { class: "table-scroll" }, h("table", { class: "ledger" },
            h("tbody", null, account.parts.map((part) => row(part.name, part.note, part.bytes, mark(part), true))),
            h("tbody", { class: "total" }, row(account.wholeName, "", account.whole, null, true)),
            account.beside.length > 0 ? h("tbody", { class: "beside" },
                account.beside.map((part) => row(part.name, part.note, part.bytes, null, false))) : null)));
}

// ---- fragmentation ----

export function fragmentation(data: Fragmentation): HTMLElement {
    return h("div", null, timeline(data.chart), data.pins.length === 0 ? null : table(
        [
            { title: "Segment", value: (row) => row.segment, show: (row) => h("code", null, row.segment) },
            { title: "Size", value: (row) => row.size, number: true, show: (row) => bytes(row.size) },
            { title: "In use", value: (row) => row.used, number: true, show: (row) => barred(row.used, row.size, bytes(row.used)) },
            { title: "Blocks", value: (row) => row.blocks, number: true, show: (row) => count(row.blocks) },
            { title: "Kept by", value: (row) => `${row.holder}\n${row.owner}\n${row.detail}`, wide: true,
                show: (row) => siteCell(row.holder, row.detail) },
            { title: "Since step", value: (row) => row.since, number: true, show: (row) => (row.since > 0 ? row.since : "\u2013") },
        ], data.pins, { label: "segments kept by a few bytes", rows: 8 }).element);
}

// ---- growth ----

export function growth(data: Growth): HTMLElement {
    const chart = h("div", { class: "small-chart" });
    const svg = s("svg", { role: "img", "aria-label": "Memory left at the end of each step" });
    chart.appendChild(svg);
    const [left, right, top, bottom, height] = [68, 16, 14, 26, 190];
    onWidth(chart, (width) => {
        const most = Math.max(1, ...data.steps.map((step) => step.end)) * 1.05;
        const y = (b: number): number => height - bottom - (Math.max(b, 0) / most) * (height - top - bottom);
        const slot = (width - left - right) / Math.max(data.steps.length, 1);
        const thick = Math.max(1, Math.min(56, slot * 0.72));
        const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => slot * n >= 30) ?? 1000;
        svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        svg.setAttribute("height", String(height));
        clear(svg,
            byteTicks(most, 5).map((b) => s("g", null,
                s("line", { class: "grid", x1: left, x2: width - right, y1: y(b), y2: y(b) }),
                s("text", { class: "tick", x: left - 10, y: y(b) + 4, "text-anchor": "end" }, bytes(b)))),
            data.steps.map((step, i) => {
                const x = left + slot * i + (slot - thick) / 2;
                const before = i > 0 ? Math.min(data.steps[i - 1]!.end, step.end) : step.end;
                return s("g", { class: "growth-bar" },
                    s("title", null, `step ${step.step}: ${bytes(step.end)} at its end (${signedBytes(step.delta)}), peak ${bytes(step.peak)}`),
                    s("rect", { class: "kept", x, y: y(before), width: thick, height: Math.max(0, y(0) - y(before)) }),
                    s("rect", { class: "added", x, y: y(step.end), width: thick, height: Math.max(0, y(before) - y(step.end)) }),
                    slot > 64 && i > 0 && step.delta !== 0 ? s("text", { class: "delta", x: x + thick / 2, y: y(step.end) - 5, "text-anchor": "middle" },
                        signedBytes(step.delta)) : null,
                    i % every === 0 ? s("text", { class: "tick", x: x + thick / 2, y: height - 8, "text-anchor": "middle" },
                        step.step) : null);
            }));
    });
    return h("div", null, chart, data.survivors.length === 0 ? null : table(
        [
            { title: "Left behind by", value: (row) => `${row.site}\n${row.detail}`, show: (row) => siteCell(row.site, row.detail), wide: true },
            { title: "First step", value: (row) => row.since, number: true },
            { title: "Steps", value: (row) => row.steps, number: true, show: (row) => count(row.steps) },
            { title: "Blocks", value: (row) => row.blocks, number: true, show: (row) => count(row.blocks) },
            { title: "Per step", value: (row) => row.perStep, number: true, show: (row) => bytes(row.perStep) },
            { title: "Live at the end", value: (row) => row.atEnd ?? -1, number: true,
                show: (row) => (row.atEnd === null ? "\u2013" : bytes(row.atEnd)) },
        ], data.survivors, { label: "memory that outlives its step", rows: 8 }).element);
}

// ---- operators ----

export function operators(list: Operator[]): HTMLElement {
    const most = list.reduce((max, row) => Math.max(max, row.rise), 0);
    return table(
        [
            { title: "Operator", value: (row) => row.name, show: (row) => h("code", { title: row.name }, shortOp(row.name)), wide: true },
            { title: "Calls", value: (row) => row.calls, number: true, show: (row) => count(row.calls) },
            { title: "Allocations", value: (row) => row.allocations, number: true, show: (row) => count(row.allocations) },
            { title: "Allocated in total", value: (row) => row.allocated, number: true, show: (row) => bytes(row.allocated) },
            { title: "Live at the peak", value: (row) => row.atPeak, number: true, show: (row) => (row.atPeak > 0 ? bytes(row.atPeak) : "\u2013") },
            { title: "Rise per call", value: (row) => row.rise, number: true, show: (row) => barred(row.rise, most, bytes(row.rise)) },
        ], list, { label: "operators", rows: 10 }).element;
}

// ---- all of a process on a device ----

function parts(data: Subject): Child[] {
    const id = (part: string): string => `${data.id}-${part}`;
    return [
        data.timeline ? section(id("time"), "Memory over time", null, timeline(data.timeline)) : null,
        section(id("advice"), "What to change", "Ordered by how much the peak drops when the recording is replayed with the change applied." +
            (data.exact ? "" : " There were too many events to replay individually: savings are lower bounds."),
        adviceCards(data.advice, data.verdict.peak)),
        data.live.length > 0 ? section(id("peak"), "What was live at the peak",
            "Every block that was live at that moment, by owner and by allocating call site.", liveSet(data)) : null,
        data.account ? section(id("account"), "Memory account",
            "All memory of the device at the peak, from the driver down.", accountBar(data.account)) : null,
        data.growth ? section(id("growth"), "Growth from step to step", data.growth.sentence, growth(data.growth)) : null,
        data.fragmentation ? section(id("fragments"), "Fragmentation", data.fragmentation.sentence, fragmentation(data.fragmentation)) : null,
        data.operators.length > 0 ? section(id("operators"), "Operators", "By how much memory in use rose during one call." +
            (data.operatorsLeftOut > 0 ? ` ${count(data.operatorsLeftOut)} operators with smaller rises are not shown.` : ""),
        operators(data.operators)) : null,
    ];
}

/** Folded: charts and tables are built when they are opened. */
export function subject(data: Subject, folded: boolean): HTMLElement {
    const element = h("article", { id: data.id, class: folded ? "folded" : null, "aria-label": `${data.device}, ${data.process}` },
        h("header", { class: "subject" },
            h("h2", null, h("span", { class: "device" }, data.device), h("span", { class: "process" }, data.process)),
            h("p", { class: "facts" }, data.facts.join(" \u00b7 "))),
        data.warnings.map((text) => h("p", { class: "warning", role: "note" }, text)),
        verdict(data));
    if (folded) {
        const more = h("button", { type: "button", class: "more", click: () => {
            more.remove();
            element.classList.remove("folded");
            append(element, parts(data));
        } }, "Show charts and advice");
        element.append(more);
    } else {
        append(element, parts(data));
    }
    return element;
}
