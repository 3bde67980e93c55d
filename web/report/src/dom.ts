// SPDX-License-Identifier: Apache-2.0
// Elements without a framework. Text only ever becomes text nodes and attributes: no part of a recording is parsed as HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
export type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Attributes | null, children: Child[]): void {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) {
            continue;
        }
        if (typeof value === "function") {
            element.addEventListener(name, value as EventListener);
        } else {
            element.setAttribute(name, value === true ? "" : String(value));
        }
    }
    append(element, children);
}

export function append(parent: Node, children: Child): void {
    if (Array.isArray(children)) {
        for (const child of children) {
            append(parent, child);
        }
    } else if (children instanceof Node) {
        parent.appendChild(children);
    } else if (children !== null && children !== undefined && children !== false) {
        parent.appendChild(document.createTextNode(String(children)));
    }
}

/** An HTML element. Attributes whose value is a function are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K, attributes: Attributes | null = null, ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    fill(element, attributes, children);
    return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
    tag: K, attributes: Attributes | null = null, ...children: Child[]
): SVGElementTagNameMap[K] {
    const element = document.createElementNS(SVG, tag) as SVGElementTagNameMap[K];
    fill(element, attributes, children);
    return element;
}

/** Sets styles through the CSSOM: the page's policy refuses style attributes. */
export function style<T extends HTMLElement | SVGElement>(element: T, properties: Record<string, string>): T {
    for (const [name, value] of Object.entries(properties)) {
        element.style.setProperty(name, value);
    }
    return element;
}

export function clear(element: Element, ...children: Child[]): void {
    element.replaceChildren();
    append(element, children);
}

/** Calls draw with the width of the element, now and after every change. */
export function onWidth(element: HTMLElement, draw: (width: number) => void): void {
    let last = 0;
    const turn = (): void => {
        const width = Math.floor(element.clientWidth);
        if (width > 0 && width !== last) {
            last = width;
            draw(width);
        }
    };
    new ResizeObserver(turn).observe(element);
    turn();
}
