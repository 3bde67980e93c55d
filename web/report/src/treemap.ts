// SPDX-License-Identifier: Apache-2.0
// A squarified treemap (Bruls, Huizing, van Wijk 2000) with two levels: owners, and for each the call sites that hold its memory.

import { css, type Colour } from "./colours";
import { clear, h, onWidth, style } from "./dom";
import { bytes, percent } from "./format";

export interface Leaf {
    name: string;
    short: string; // for small boxes
    detail: string; // for the tooltip
    bytes: number;
    blocks: number;
}

export interface Branch {
    name: string;
    colour: Colour;
    bytes: number;
    leaves: Leaf[];
}

export interface Box {
    x: number;
    y: number;
    w: number;
    h: number;
}

/** Rectangles with the given areas (largest first) that fill the box. */
export function squarify(areas: number[], box: Box): Box[] {
    const sum = areas.reduce((a, b) => a + b, 0);
    const scale = sum > 0 ? (box.w * box.h) / sum : 0;
    const found: Box[] = [];
    let { x, y, w, h: height } = box;
    for (let i = 0; i < areas.length;) {
        const side = Math.min(w, height);
        let row = 0;
        let worst = Infinity;
        let j = i;
        for (; j < areas.length; j++) { // while the aspect ratios of the row improve
            const more = row + areas[j]! * scale;
            const largest = areas[i]! * scale;
            const smallest = Math.max(areas[j]! * scale, 1e-9);
            const ratio = Math.max((side * side * largest) / (more * more), (more * more) / (side * side * smallest));
            if (ratio > worst) {
                break;
            }
            worst = ratio;
            row = more;
        }
        const thick = side > 0 ? row / side : 0;
        let along = 0;
        for (; i < j; i++) {
            const length = thick > 0 ? (areas[i]! * scale) / thick : 0;
            found.push(w >= height ? { x, y: y + along, w: thick, h: length } : { x: x + along, y, w: length, h: thick });
            along += length;
        }
        if (w >= height) {
            x += thick;
            w -= thick;
        } else {
            y += thick;
            height -= thick;
        }
    }
    return found;
}

const HEAD = 24;
const GAP = 2;

export function treemap(branches: Branch[], choose: (branch: Branch, leaf: Leaf | null) => void): HTMLElement {
    const total = branches.reduce((sum, branch) => sum + branch.bytes, 0);
    const frame = h("div", { class: "treemap", role: "group", "aria-label": "Live memory at the peak by owner and call site" });
    const sorted = [...branches].filter((branch) => branch.bytes > 0).sort((a, b) => b.bytes - a.bytes);

    const place = (element: HTMLElement, box: Box): HTMLElement => style(element, {
        left: `${box.x.toFixed(1)}px`, top: `${box.y.toFixed(1)}px`,
        width: `${Math.max(0, box.w - GAP).toFixed(1)}px`, height: `${Math.max(0, box.h - GAP).toFixed(1)}px`,
    });

    function draw(width: number): void {
        const height = Math.max(300, Math.min(460, Math.round(width * 0.42)));
        style(frame, { height: `${height}px` });
        const boxes = squarify(sorted.map((branch) => branch.bytes), { x: 0, y: 0, w: width + GAP, h: height + GAP });
        clear(frame, sorted.map((branch, i) => {
            const box = boxes[i]!;
            const head = box.h > 2.5 * HEAD && box.w > 60 ? HEAD : 0;
            const label = h("div", { class: "tm-head" }, h("b", null, branch.name), h("span", null, bytes(branch.bytes)));
            const group = h("div", { class: "tm-group", title: `${branch.name}: ${bytes(branch.bytes)}, ${percent(branch.bytes, total)}` },
                head > 0 ? label : null);
            style(group, { "--fill": css(branch.colour) });
            const leaves = [...branch.leaves].filter((leaf) => leaf.bytes > 0).sort((a, b) => b.bytes - a.bytes);
            const parts = squarify(leaves.map((leaf) => leaf.bytes), { x: 0, y: head, w: box.w, h: box.h - head });
            leaves.forEach((leaf, k) => {
                const part = parts[k]!;
                if (part.w < 3 || part.h < 3) {
                    return; // too small to see or click; the table has it
                }
                const roomy = part.w > 64 && part.h > 34;
                const cell = h("button", { type: "button", class: "tm-leaf",
                    title: `${leaf.name}\n${bytes(leaf.bytes)} in ${leaf.blocks} block${leaf.blocks === 1 ? "" : "s"}, ` +
                        `${percent(leaf.bytes, total)}${leaf.detail ? `\n\n${leaf.detail}` : ""}`,
                    "aria-label": `${branch.name}, ${leaf.name}: ${bytes(leaf.bytes)}`,
                    click: () => choose(branch, leaf) },
                roomy || (part.w > 48 && part.h > 17) ? h("span", { class: "tm-name" }, leaf.short) : null,
                roomy ? h("span", { class: "tm-size" }, bytes(leaf.bytes)) : null);
                group.appendChild(place(cell, part));
            });
            return place(group, box);
        }));
    }

    onWidth(frame, draw);
    return frame;
}
