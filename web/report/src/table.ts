// SPDX-License-Identifier: Apache-2.0
// Tables that can be sorted by any column and filtered by text.

import { append, clear, h, type Child } from "./dom";

export interface Column<T> {
    title: string;
    value: (row: T) => string | number; // sorted and searched by this
    show?: (row: T) => Child; // content of the cell, if not the value
    number?: boolean;
    wide?: boolean;
}

export interface TableOptions {
    label: string; // for screen readers
    rows?: number; // shown initially
    filter?: boolean;
}

export interface Table {
    element: HTMLElement;
    filter(text: string): void;
}

export function table<T>(columns: Column<T>[], data: T[], options: TableOptions): Table {
    const first = options.rows ?? 12;
    let sorted = data;
    let by = -1;
    let down = true;
    let all = false;
    let wanted = "";

    const body = h("tbody");
    const note = h("p", { class: "table-note" });
    const more = h("button", { type: "button", class: "more", click: () => {
        all = !all;
        draw();
    } });
    const search: HTMLInputElement = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${options.label}`,
        input: () => apply(search.value) });
    const heads = columns.map((column, i) => h("th", { scope: "col", class: column.number ? "number" : null },
        h("button", { type: "button", click: () => sortBy(i) }, column.title, h("span", { class: "sort", "aria-hidden": "true" }))));
    const element = h("div", { class: "table" },
        options.filter !== false && data.length > 5 ? h("div", { class: "table-tools" }, search) : null,
        h("div", { class: "table-scroll" }, h("table", { "aria-label": options.label },
            h("thead", null, h("tr", null, heads)), body)),
        h("div", { class: "table-foot" }, note, more));

    function sortBy(i: number): void {
        down = by === i ? !down : columns[i]!.number === true;
        by = i;
        const value = columns[i]!.value;
        sorted = [...data].sort((a, b) => {
            const [p, q] = [value(a), value(b)];
            const order = typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q));
            return down ? -order : order;
        });
        heads.forEach((head, k) => head.setAttribute("aria-sort", k !== i ? "none" : down ? "descending" : "ascending"));
        draw();
    }

    function apply(text: string): void {
        wanted = text.trim().toLowerCase();
        draw();
    }

    function draw(): void {
        const words = wanted.split(/\s+/).filter((word) => word !== "");
        const matching = words.length === 0 ? sorted : sorted.filter((row) => {
            const text = columns.map((column) => column.value(row)).join("\n").toLowerCase();
            return words.every((word) => text.includes(word));
        });
        const shown = all ? matching : matching.slice(0, first);
        clear(body, shown.map((row) => h("tr", null, columns.map((column) => {
            const cell = h("td", { class: [column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim() || null });
            append(cell, column.show ? column.show(row) : column.value(row));
            return cell;
        }))));
        note.textContent = matching.length === 0 ? "Nothing matches." :
            shown.length < matching.length ? `${shown.length} of ${matching.length}` : "";
        more.hidden = matching.length <= first;
        more.textContent = all ? "Show fewer" : `Show all ${matching.length}`;
    }

    draw();
    return { element, filter: (text) => {
        search.value = text;
        apply(text);
    } };
}
