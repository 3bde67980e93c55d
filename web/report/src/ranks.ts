// SPDX-License-Identifier: Apache-2.0
// All ranks: the spread per step, and a heat map of ranks and steps.

import { h, onWidth, s, clear, style } from "./dom";
import { bytes, byteTicks, percent, signedBytes } from "./format";
import { section } from "./sections";
import { table } from "./table";
import type { RanksView } from "./view";

function spread(view: RanksView): HTMLElement {
    const chart = h("div", { class: "small-chart" });
    const svg = s("svg", { role: "img", "aria-label": "Smallest, median and largest peak of all ranks in each step" });
    chart.appendChild(svg);
    const [left, right, top, bottom, height] = [68, 16, 14, 26, 200];
    onWidth(chart, (width) => {
        const most = Math.max(1, ...view.spread.map((step) => step.max)) * 1.06;
        const slot = (width - left - right) / Math.max(view.steps.length, 1);
        const x = (i: number): number => left + slot * (i + 0.5);
        const y = (b: number): number => height - bottom - (b / most) * (height - top - bottom);
        const line = (value: (step: RanksView["spread"][0]) => number): string =>
            view.spread.map((step, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(1)},${y(value(step)).toFixed(1)}`).join("");
        const back = [...view.spread].reverse().map((step, i) =>
            `L${x(view.spread.length - 1 - i).toFixed(1)},${y(step.min).toFixed(1)}`).join("");
        const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => slot * n >= 30) ?? 1000;
        const deviant = view.deviant;
        const at = deviant ? view.steps.indexOf(deviant.step) : -1;
        svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        svg.setAttribute("height", String(height));
        clear(svg,
            byteTicks(most, 5).map((b) => s("g", null,
                s("line", { class: "grid", x1: left, x2: width - right, y1: y(b), y2: y(b) }),
                s("text", { class: "tick", x: left - 10, y: y(b) + 4, "text-anchor": "end" }, bytes(b)))),
            s("path", { class: "band", d: `${line((step) => step.max)}${back}Z` }),
            s("path", { class: "line line-used", d: line((step) => step.median) }),
            deviant ? s("path", { class: "line line-deviant", d: deviantLine(view, deviant.rank, x, y) }) : null,
            at >= 0 ? s("g", { class: "peak" },
                s("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom }),
                s("text", { x: x(at) + (x(at) < width - 200 ? 8 : -8), y: top + 8,
                    "text-anchor": x(at) < width - 200 ? "start" : "end" }, `${view.ranks[deviant!.rank]!.name} diverges`)) : null,
            view.steps.map((step, i) => (i % every === 0)
                ? s("text", { class: "tick", x: x(i), y: height - 8, "text-anchor": "middle" }, step) : null));
    });
    return h("div", null, h("ul", { class: "legend" },
        h("li", null, h("span", { class: "mark mark-used" }), "median"),
        h("li", null, h("span", { class: "swatch band-swatch" }), "smallest to largest"),
        view.deviant ? h("li", null, h("span", { class: "mark mark-deviant" }), view.ranks[view.deviant.rank]!.name) : null), chart);
}

function deviantLine(view: RanksView, rank: number, x: (i: number) => number, y: (b: number) => number): string {
    let path = "";
    view.ranks[rank]!.peaks.forEach((peak, i) => {
        if (peak !== null) {
            path += `${path === "" ? "M" : "L"}${x(i).toFixed(1)},${y(peak).toFixed(1)}`;
        }
    });
    return path;
}

/** Ranks down, steps across; the shade is the distance from the step's median. */
function field(view: RanksView): HTMLElement {
    const far = Math.max(0.02, ...view.ranks.flatMap((rank) => rank.peaks.map((peak, i) => distance(peak, view.spread[i]!.median))));
    const most = 120; // columns; longer recordings show every nth step
    const every = Math.ceil(view.steps.length / most);
    const shown = view.steps.map((_, i) => i).filter((i) => i % every === 0 || view.steps[i] === view.deviant?.step);
    return h("div", { class: "field-frame" }, h("table", { class: "field", "aria-label": "Peak of each rank in each step" },
        h("thead", null, h("tr", null, h("th", null, "Rank"), shown.map((i) => h("th", null, shown.length <= 24 || i % 10 === 0 ? view.steps[i] : "")))),
        h("tbody", null, view.ranks.map((rank, r) => h("tr", null,
            h("th", { scope: "row" }, h("a", { href: `#${rank.anchor}` }, rank.name)),
            shown.map((i) => {
                const peak = rank.peaks[i] ?? null;
                const away = distance(peak, view.spread[i]!.median);
                const mark = view.deviant?.rank === r && view.deviant.step === view.steps[i];
                const cell = h("td", { class: mark ? "first" : null,
                    title: peak === null ? "not recorded" : `${rank.name}, step ${view.steps[i]}: ${bytes(peak)}` +
                        ` (${signedBytes(peak - view.spread[i]!.median)} relative to the median)` },
                shown.length <= 12 && peak !== null ? bytes(peak) : null);
                return peak === null ? cell : style(cell, {
                    "--away": `${Math.round((100 * away) / far)}%`,
                    "--side": peak >= view.spread[i]!.median ? "var(--c-rose)" : "var(--c-blue)",
                });
            }))))));
}

function distance(peak: number | null, median: number): number {
    return peak === null || median <= 0 ? 0 : Math.abs(peak - median) / median;
}

export function ranks(view: RanksView): HTMLElement {
    const last = view.spread[view.spread.length - 1];
    return section("ranks", "All ranks", [view.sentence, last ? ` In the last step the largest rank holds ${bytes(last.max)}, ` +
        `${percent(last.max, last.median)} of the median.` : null],
    view.deviant ? h("p", { class: "finding" }, view.deviant.sentence) : null,
    spread(view), field(view),
    view.causes.length === 0 ? null : h("div", null, h("h4", { class: "sub" }, "Causes of the difference"), table(
        [
            { title: "Owner", value: (row) => row.owner },
            { title: "Call site", value: (row) => `${row.site}\n${row.detail}`, wide: true, show: (row) => (row.detail
                ? h("details", { class: "site" }, h("summary", null, row.site), h("pre", null, row.detail)) : row.site) },
            { title: "This rank", value: (row) => row.bytes, number: true, show: (row) => bytes(row.bytes) },
            { title: "Reference", value: (row) => row.reference, number: true, show: (row) => bytes(row.reference) },
            { title: "Difference", value: (row) => row.bytes - row.reference, number: true,
                show: (row) => signedBytes(row.bytes - row.reference) },
        ], view.causes, { label: "causes of the difference", rows: 8 }).element));
}
