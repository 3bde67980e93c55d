// SPDX-License-Identifier: Apache-2.0
// Memory over time: owners stacked, pool memory above them, steps, the peak. Below it an overview of the whole recording
// with the visible range. Drag to zoom, drag the range to move it; arrows, + and - do the same from the keyboard.

import { css, type Colour } from "./colours";
import { clear, h, onWidth, s, style } from "./dom";
import { bytes, byteTicks, ticks, time } from "./format";

export interface Series {
    name: string;
    colour: Colour;
    bytes: number[];
}

export interface Timeline {
    label: string;
    height: number;
    begin: number; // ns
    end: number;
    at: number[]; // ns, increasing
    stack: Series[]; // from the bottom up
    lines: { name: string; kind: "reserved" | "driver"; bytes: number[] }[];
    steps: { step: number; at: number }[];
    peak: { at: number; bytes: number; label: string } | null;
}

const STRIP = 44;
const LEFT = 68;
const RIGHT = 16;
const TOP = 26;
const BOTTOM = 26;

/** Index of the last sample at or before the time; 0 if there is none. */
export function sampleAt(at: number[], when: number): number {
    let low = 0;
    let high = at.length - 1;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (at[middle]! <= when) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

export function stepAt(steps: { step: number; at: number }[], when: number): number {
    let found = 0;
    for (const step of steps) {
        if (step.at > when) {
            break;
        }
        found = step.step;
    }
    return found;
}

export function timeline(data: Timeline): HTMLElement {
    const whole: [number, number] = [data.begin, Math.max(data.end, data.begin + 1)];
    let view: [number, number] = [...whole];
    let cursor: number | null = null; // ns
    let width = 0;
    const hidden = new Set<string>();

    const plot = s("svg", { class: "plot", role: "img", "aria-label": data.label, tabindex: 0 });
    const strip = s("svg", { class: "strip", "aria-hidden": "true" });
    const tip = h("div", { class: "tip", hidden: true });
    const reset = h("button", { type: "button", class: "reset", hidden: true, click: () => show(whole) }, "Show all");
    const legend = h("ul", { class: "legend" });
    const frame = h("div", { class: "timeline" }, legend, h("div", { class: "plot-frame" }, plot, tip, reset), strip);

    const inner = (): number => width - LEFT - RIGHT;
    const x = (when: number): number => LEFT + ((when - view[0]) / (view[1] - view[0])) * inner();
    const when = (px: number): number => view[0] + ((px - LEFT) / inner()) * (view[1] - view[0]);
    const stripX = (t: number): number => LEFT + ((t - whole[0]) / (whole[1] - whole[0])) * inner();
    const stripWhen = (px: number): number => whole[0] + ((px - LEFT) / inner()) * (whole[1] - whole[0]);

    // Sums of the stack at each sample, without hidden series.
    function layers(): { series: Series; low: number[]; high: number[] }[] {
        let low = new Array<number>(data.at.length).fill(0);
        return data.stack.filter((series) => !hidden.has(series.name)).map((series) => {
            const high = low.map((base, i) => base + series.bytes[i]!);
            const layer = { series, low, high };
            low = high;
            return layer;
        });
    }

    function range(from: number, to: number): [number, number] {
        return [sampleAt(data.at, from), Math.min(data.at.length - 1, sampleAt(data.at, to) + 1)];
    }

    // Memory is constant between two samples: steps, not slopes.
    function outline(values: number[], first: number, last: number, px: (t: number) => number, py: (b: number) => number): string {
        let path = "";
        for (let i = first; i <= last; i++) {
            const left = px(Math.max(data.at[i]!, whole[0])).toFixed(1);
            const y = py(values[i]!).toFixed(1);
            path += i === first ? `M${left},${y}` : `H${left}V${y}`;
        }
        return `${path}H${px(last + 1 < data.at.length ? data.at[last + 1]! : whole[1]).toFixed(1)}`;
    }

    function area(low: number[], high: number[], first: number, last: number, px: (t: number) => number,
        py: (b: number) => number): string {
        const right = px(last + 1 < data.at.length ? data.at[last + 1]! : whole[1]).toFixed(1);
        let path = outline(high, first, last, px, py);
        path += `V${py(low[last]!).toFixed(1)}H${right}`;
        for (let i = last; i >= first; i--) {
            path += `V${py(low[i]!).toFixed(1)}H${px(data.at[i]!).toFixed(1)}`;
        }
        return `${path}Z`;
    }

    function draw(): void {
        const height = data.height;
        const [first, last] = range(view[0], view[1]);
        const stacked = layers();
        let max = 0;
        for (let i = first; i <= last; i++) {
            max = Math.max(max, stacked.length > 0 ? stacked[stacked.length - 1]!.high[i]! : 0);
            for (const line of data.lines) {
                max = Math.max(max, hidden.has(line.name) ? 0 : line.bytes[i]!);
            }
        }
        max = Math.max(max, 1) * 1.06;
        const y = (b: number): number => height - BOTTOM - (b / max) * (height - TOP - BOTTOM);
        const span = view[1] - view[0];
        const clip = `clip-${Math.round(Math.random() * 1e9)}`;
        plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
        plot.setAttribute("height", String(height));

        const grid = byteTicks(max, height > 250 ? 6 : 4).map((b) => s("g", null,
            s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(b), y2: y(b) }),
            s("text", { class: "tick", x: LEFT - 10, y: y(b) + 4, "text-anchor": "end" }, bytes(b))));
        const times = ticks(view[0] - data.begin, view[1] - data.begin, Math.max(2, Math.floor(inner() / 110))).map((t) =>
            s("text", { class: "tick", x: Math.min(x(t + data.begin), width - 2), y: height - 8,
                "text-anchor": x(t + data.begin) > width - 24 ? "end" : "middle" }, time(t, span)));

        const every = stride(data.steps, x, 34);
        const steps = data.steps.map((step, i) => {
            const until = data.steps[i + every]?.at ?? whole[1];
            if (i % every !== 0 || until < view[0] || step.at > view[1]) {
                return null;
            }
            const left = Math.max(x(step.at), LEFT);
            const right = Math.min(x(until), width - RIGHT);
            return s("g", null,
                x(step.at) >= LEFT ? s("line", { class: "step", x1: left, x2: left, y1: TOP - 10, y2: height - BOTTOM }) : null,
                right - left <= 8 ? null : every > 1 ? s("text", { class: "step-label", x: left + 4, y: TOP - 12 }, step.step) :
                    s("text", { class: "step-label", x: (left + right) / 2, y: TOP - 12, "text-anchor": "middle" }, step.step));
        });

        const areas = stacked.map((layer) => style(s("path", { class: "area", d: area(layer.low, layer.high, first, last, x, y) }),
            { fill: css(layer.series.colour) }));
        const lines = data.lines.filter((line) => !hidden.has(line.name)).map((line) =>
            s("path", { class: `line line-${line.kind}`, d: outline(line.bytes, first, last, x, y) }));
        const peak = data.peak && data.peak.at >= view[0] && data.peak.at <= view[1] ? peakMark(data.peak, x(data.peak.at), y) : null;
        clear(plot,
            s("clipPath", { id: clip }, s("rect", { x: LEFT, y: 0, width: inner(), height })),
            grid,
            s("g", { "clip-path": `url(#${clip})` }, areas, lines),
            steps, times, peak,
            s("line", { class: "cursor", y1: TOP, y2: height - BOTTOM, visibility: "hidden" }),
            s("rect", { class: "brush", y: TOP, height: height - TOP - BOTTOM, visibility: "hidden" }));
        reset.hidden = view[0] === whole[0] && view[1] === whole[1];
        drawStrip(stacked);
        drawCursor();
    }

    function peakMark(peak: { at: number; bytes: number; label: string }, px: number, y: (b: number) => number): SVGGElement {
        const right = px < width - 190;
        return s("g", { class: "peak" },
            s("line", { x1: px, x2: px, y1: TOP, y2: data.height - BOTTOM }),
            s("circle", { cx: px, cy: y(peak.bytes), r: 4.5 }),
            s("text", { x: px + (right ? 9 : -9), y: Math.max(y(peak.bytes) - 9, TOP + 10), "text-anchor": right ? "start" : "end" },
                peak.label));
    }

    function drawStrip(stacked: { high: number[] }[]): void {
        const top = stacked.length > 0 ? stacked[stacked.length - 1]!.high : data.lines[0]?.bytes ?? [];
        const max = Math.max(1, ...top);
        const y = (b: number): number => STRIP - 4 - (b / max) * (STRIP - 10);
        strip.setAttribute("viewBox", `0 0 ${width} ${STRIP}`);
        strip.setAttribute("height", String(STRIP));
        const left = stripX(view[0]);
        const right = stripX(view[1]);
        clear(strip,
            s("rect", { class: "strip-ground", x: LEFT, y: 2, width: inner(), height: STRIP - 4, rx: 3 }),
            top.length > 0 ? s("path", { class: "strip-area",
                d: area(new Array<number>(top.length).fill(0), top, 0, top.length - 1, stripX, y) }) : null,
            s("rect", { class: "strip-out", x: LEFT, y: 2, width: Math.max(0, left - LEFT), height: STRIP - 4 }),
            s("rect", { class: "strip-out", x: right, y: 2, width: Math.max(0, width - RIGHT - right), height: STRIP - 4 }),
            s("rect", { class: "strip-view", x: left, y: 2, width: Math.max(2, right - left), height: STRIP - 4, rx: 3 }));
    }

    function drawCursor(): void {
        const line = plot.querySelector(".cursor")!;
        if (cursor === null || cursor < view[0] || cursor > view[1] || data.at.length === 0) {
            line.setAttribute("visibility", "hidden");
            tip.hidden = true;
            return;
        }
        const px = x(cursor);
        const i = sampleAt(data.at, cursor);
        line.setAttribute("x1", String(px));
        line.setAttribute("x2", String(px));
        line.setAttribute("visibility", "visible");
        const step = stepAt(data.steps, cursor);
        const rows = [
            ...data.lines.map((l) => ({ name: l.name, mark: `mark mark-${l.kind}`, colour: null, bytes: l.bytes[i]! })),
            ...[...data.stack].reverse().map((o) => ({ name: o.name, mark: "swatch", colour: o.colour as Colour | null, bytes: o.bytes[i]! })),
        ].filter((row) => row.bytes !== 0);
        clear(tip,
            h("div", { class: "tip-title" }, time(cursor - data.begin, whole[1] - whole[0]), step > 0 ? ` \u00b7 step ${step}` : ""),
            h("table", null, rows.map((row) => {
                const mark = h("span", { class: row.mark });
                return h("tr", null,
                    h("td", null, row.colour ? style(mark, { background: css(row.colour) }) : mark, row.name),
                    h("td", { class: "number" }, bytes(row.bytes)));
            })));
        tip.hidden = false;
        const left = px + 16 + tip.offsetWidth < width ? px + 14 : px - 14 - tip.offsetWidth;
        style(tip, { left: `${Math.max(0, left)}px`, top: `${TOP + 6}px` });
    }

    function show(range: [number, number]): void {
        const least = Math.max((whole[1] - whole[0]) / 5000, 100);
        let [from, to] = range;
        if (to - from < least) {
            const middle = (from + to) / 2;
            from = middle - least / 2;
            to = middle + least / 2;
        }
        const length = Math.min(to - from, whole[1] - whole[0]);
        from = Math.min(Math.max(from, whole[0]), whole[1] - length);
        view = [from, from + length];
        draw();
    }

    const zoom = (around: number, factor: number): void =>
        show([around - (around - view[0]) * factor, around + (view[1] - around) * factor]);

    const position = (event: { clientX: number }): number => event.clientX - plot.getBoundingClientRect().left;

    function drag(element: SVGSVGElement, begin: (px: number) => { move: (px: number) => void; end?: (px: number) => void }): void {
        element.addEventListener("pointerdown", (event: PointerEvent) => {
            if (event.button !== 0) {
                return;
            }
            const action = begin(position(event));
            element.setPointerCapture(event.pointerId);
            const move = (e: PointerEvent): void => action.move(position(e));
            const up = (e: PointerEvent): void => {
                element.removeEventListener("pointermove", move);
                action.end?.(position(e));
            };
            element.addEventListener("pointermove", move);
            element.addEventListener("pointerup", up, { once: true });
            element.addEventListener("pointercancel", up, { once: true });
        });
    }

    drag(plot, (from) => {
        const brush = plot.querySelector(".brush")!;
        return {
            move: (px) => {
                brush.setAttribute("x", String(Math.max(LEFT, Math.min(from, px))));
                brush.setAttribute("width", String(Math.abs(px - from)));
                brush.setAttribute("visibility", Math.abs(px - from) > 3 ? "visible" : "hidden");
            },
            end: (px) => {
                brush.setAttribute("visibility", "hidden");
                if (Math.abs(px - from) > 6) {
                    show([when(Math.min(from, px)), when(Math.max(from, px))]);
                }
            },
        };
    });
    drag(strip, (from) => {
        const at = stripWhen(from);
        const inside = at >= view[0] && at <= view[1] && (view[0] !== whole[0] || view[1] !== whole[1]);
        const before = view;
        return {
            move: (px) => {
                const now = stripWhen(px);
                show(inside ? [before[0] + now - at, before[1] + now - at] : [Math.min(at, now), Math.max(at, now)]);
            },
        };
    });
    plot.addEventListener("pointermove", (event) => {
        const px = position(event);
        cursor = px >= LEFT && px <= width - RIGHT ? when(px) : null;
        drawCursor();
    });
    plot.addEventListener("pointerleave", () => {
        cursor = null;
        drawCursor();
    });
    plot.addEventListener("dblclick", () => show(whole));
    plot.addEventListener("wheel", (event) => {
        if (event.ctrlKey || event.metaKey) { // the plain wheel scrolls the page
            event.preventDefault();
            zoom(when(position(event)), event.deltaY > 0 ? 1.25 : 0.8);
        }
    }, { passive: false });
    plot.addEventListener("keydown", (event) => {
        const at = cursor ?? (view[0] + view[1]) / 2;
        const hop = (view[1] - view[0]) / (event.shiftKey ? 10 : 100);
        const actions: Record<string, () => void> = {
            ArrowLeft: () => (cursor = Math.max(view[0], at - hop)),
            ArrowRight: () => (cursor = Math.min(view[1], at + hop)),
            Home: () => show([whole[0], whole[0] + view[1] - view[0]]),
            End: () => show([whole[1] - view[1] + view[0], whole[1]]),
            "+": () => zoom(at, 0.5),
            "=": () => zoom(at, 0.5),
            "-": () => zoom(at, 2),
            "0": () => show(whole),
            Escape: () => (cursor = null),
        };
        const action = actions[event.key];
        if (action) {
            event.preventDefault();
            action();
            drawCursor();
        }
    });

    const entries = [
        ...data.lines.map((line) => ({ name: line.name, mark: h("span", { class: `mark mark-${line.kind}` }) })),
        ...[...data.stack].reverse().map((series) => ({ name: series.name,
            mark: style(h("span", { class: "swatch" }), { background: css(series.colour) }) })),
    ];
    for (const entry of entries) {
        const button = h("button", { type: "button", "aria-pressed": "true", title: "Show or hide", click: () => {
            const shown = hidden.delete(entry.name);
            if (!shown) {
                hidden.add(entry.name);
            }
            button.setAttribute("aria-pressed", String(shown));
            draw();
        } }, entry.mark, entry.name);
        legend.appendChild(h("li", null, button));
    }
    onWidth(frame, (now) => {
        width = now;
        draw();
    });
    return frame;
}

/** The smallest n such that every nth step has space for a label. */
function stride(steps: { at: number }[], x: (when: number) => number, room: number): number {
    if (steps.length < 2) {
        return 1;
    }
    const gap = (x(steps[steps.length - 1]!.at) - x(steps[0]!.at)) / (steps.length - 1);
    for (const every of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]) {
        if (gap * every >= room) {
            return every;
        }
    }
    return 10000;
}
