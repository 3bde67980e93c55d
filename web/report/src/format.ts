// SPDX-License-Identifier: Apache-2.0
// Human-readable numbers. Bytes in powers of 1024, as everywhere in the tool.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function digits(value: number): string {
    return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** [number, unit], for numbers that are set in two font sizes. */
export function bytesParts(bytes: number): [string, string] {
    let value = Math.abs(bytes);
    let unit = 0;
    while (value >= 1023.5 && unit < UNITS.length - 1) {
        value /= 1024;
        unit++;
    }
    const text = unit === 0 ? value.toFixed(0) : digits(value);
    return [(bytes < 0 ? "\u2212" : "") + text, UNITS[unit]!];
}

export function bytes(value: number): string {
    return bytesParts(value).join("\u00a0");
}

export function signedBytes(value: number): string {
    return (value > 0 ? "+" : "") + bytes(value);
}

export function percent(part: number, whole: number): string {
    if (whole <= 0) {
        return "\u2013";
    }
    const value = (100 * part) / whole;
    return (value > 0 && value < 0.1 ? "<\u20090.1" : value >= 99.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)) +
        "\u2009%";
}

export function count(value: number): string {
    return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** A time since the start, with a precision that fits the span around it. */
export function time(ns: number, spanNs: number): string {
    const seconds = ns / 1e9;
    if (spanNs < 1e3) {
        return `${ns.toFixed(0)}\u00a0ns`;
    }
    if (spanNs < 1e6) {
        return `${(ns / 1e3).toFixed(spanNs < 1e4 ? 1 : 0)}\u00a0\u00b5s`;
    }
    if (spanNs < 2e9) {
        return `${(ns / 1e6).toFixed(spanNs < 1e7 ? 2 : spanNs < 1e8 ? 1 : 0)}\u00a0ms`;
    }
    if (spanNs < 180e9) {
        return `${seconds.toFixed(spanNs < 20e9 ? 2 : 1)}\u00a0s`;
    }
    const minutes = Math.floor(seconds / 60);
    const rest = Math.floor(seconds % 60).toString().padStart(2, "0");
    return minutes < 60 ? `${minutes}:${rest}` :
        `${Math.floor(minutes / 60)}:${(minutes % 60).toString().padStart(2, "0")}:${rest}`;
}

/** Round byte values that divide [0, max] into about n parts: 1, 2, 4 ... 512 times a power of 1024. */
export function byteTicks(max: number, n: number): number[] {
    let step = 1;
    while (max / step > n) {
        step *= 2;
    }
    const ticks = [];
    for (let at = 0; at <= max * 1.0001; at += step) {
        ticks.push(at);
    }
    return ticks;
}

/** Round decimal values inside [min, max]. */
export function ticks(min: number, max: number, n: number): number[] {
    const span = max - min;
    if (!(span > 0)) {
        return [min];
    }
    const raw = span / n;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= raw)!;
    const found = [];
    for (let at = Math.ceil(min / step) * step; at <= max; at += step) {
        found.push(at);
    }
    return found;
}

/** The recognisable last part of a name: torch._ops.aten.clone.default -> aten.clone. */
export function shortOp(name: string): string {
    return name.replace(/^torch\._ops\./, "").replace(/\.(default|Tensor|out)$/, "");
}
