// SPDX-License-Identifier: Apache-2.0
// Reads the report embedded in the page and shows it.

import { append, h } from "./dom";
import { fromReport } from "./report";
import { ranks } from "./ranks";
import { subject } from "./sections";
import type { View } from "./view";

/** Processes whose charts are built on load; a job of 64 ranks opens as fast as one of 4. */
const OPEN = 4;

type Theme = "light" | "dark";

function setTheme(theme: Theme): void {
    document.documentElement.dataset.theme = theme;
}

function remembered(): Theme | null {
    try {
        const value = localStorage.getItem("msmemscope-theme");
        return value === "dark" || value === "light" ? value : null;
    } catch {
        return null; // file: pages may have no storage
    }
}

function themeButton(): HTMLElement {
    const other = (): Theme => (document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    const label = (): string => (other() === "dark" ? "Dark" : "Light");
    const button = h("button", { type: "button", id: "theme", click: () => {
        const theme = other();
        setTheme(theme);
        try {
            localStorage.setItem("msmemscope-theme", theme);
        } catch {
            // the choice lasts until the page is closed
        }
        button.textContent = label();
    } }, label());
    return button;
}

function contents(view: View): HTMLElement {
    const parts = (root: Element): HTMLElement[] => [...root.querySelectorAll<HTMLElement>("section[id]")];
    const list = (root: Element): HTMLElement => h("ul", null, parts(root).map((part) =>
        h("li", null, h("a", { href: `#${part.id}` }, part.querySelector("h3")!.textContent))));
    const nav = h("nav", { class: "contents", "aria-label": "Contents" },
        h("p", { class: "brand" }, "msmemscope"), h("p", { class: "brand-sub" }, "memory report"));
    const overview = document.getElementById("overview");
    if (overview) {
        nav.append(h("h2", null, "Job"), list(overview));
    }
    for (const entry of view.subjects) {
        nav.append(h("h2", null, h("a", { href: `#${entry.id}` }, entry.device), h("span", { title: entry.process }, entry.process)),
            list(document.getElementById(entry.id)!));
    }
    return nav;
}

/** Marks the entry of the section in view. */
function follow(nav: HTMLElement): void {
    const links = new Map([...nav.querySelectorAll<HTMLAnchorElement>("li a")].map((link) => [link.hash.slice(1), link]));
    const observer = new IntersectionObserver((entries) => {
        for (const entry of entries) {
            if (entry.isIntersecting) {
                links.forEach((link) => link.classList.remove("here"));
                links.get(entry.target.id)?.classList.add("here");
            }
        }
    }, { rootMargin: "-15% 0px -75% 0px" });
    for (const id of links.keys()) {
        observer.observe(document.getElementById(id)!);
    }
}

function show(view: View): void {
    document.title = view.title;
    const main = h("main", null,
        h("header", { class: "top" },
            h("div", null, h("h1", null, view.title), h("p", { class: "facts" }, view.facts.join(" \u00b7 "))),
            h("div", { class: "tools" }, themeButton(), h("button", { type: "button", click: () => window.print() }, "Print"))),
        view.warnings.map((text) => h("p", { class: "warning", role: "note" }, text)));
    const page = h("div", { class: "page" }, main);
    document.body.append(page); // charts can be measured once they are in the page
    if (view.ranks) {
        append(main, h("article", { id: "overview", "aria-label": "All ranks" }, ranks(view.ranks)));
    }
    view.subjects.forEach((entry, i) => append(main, subject(entry, i >= OPEN || entry.aside)));
    if (view.subjects.length === 0) {
        append(main, h("article", null, h("p", { class: "lead" }, "The recording contains no memory events of any device.")));
    }
    append(main, h("p", { class: "foot" },
        "Drag in a timeline to zoom in, double-click to reset; keyboard: arrows, + and \u2212, 0."));
    const nav = contents(view);
    page.prepend(nav);
    follow(nav);
}

/** A link to a folded device opens it. */
function unfold(): void {
    document.getElementById(location.hash.slice(1))?.querySelector<HTMLButtonElement>(":scope > button.more")?.click();
}
window.addEventListener("hashchange", unfold);

// Print on white.
let screenTheme: Theme = "light";
window.addEventListener("beforeprint", () => {
    screenTheme = document.documentElement.dataset.theme === "dark" ? "dark" : "light";
    setTheme("light");
});
window.addEventListener("afterprint", () => setTheme(screenTheme));

setTheme(remembered() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
try {
    show(fromReport(JSON.parse(document.getElementById("report")!.textContent!)));
    unfold();
} catch (error) {
    append(document.body, h("p", { class: "warning" }, `Cannot show this report: ${error instanceof Error ? error.message : error}`));
    throw error;
}
