// SPDX-License-Identifier: Apache-2.0
// What the page shows; report.ts builds it from the report's JSON. Sizes are bytes.

import type { Colour } from "./colours";
import type { Timeline } from "./timeline";
import type { Branch } from "./treemap";

export interface View {
    title: string;
    facts: string[]; // about the recording
    warnings: string[];
    subjects: Subject[];
    ranks: RanksView | null;
}

/** One process on one device. */
export interface Subject {
    id: string;
    process: string;
    device: string;
    facts: string[];
    warnings: string[];
    verdict: Verdict;
    timeline: Timeline | null;
    live: Branch[];
    sites: Site[];
    blocks: { addr: string; bytes: number; pool: string; owner: string; site: string; detail: string; step: number }[];
    account: Account | null;
    fragmentation: Fragmentation | null;
    growth: Growth | null;
    operators: Operator[];
    operatorsLeftOut: number;
    advice: Advice[];
    aside: boolean; // the host of a process that uses devices
    exact: boolean; // false: savings are lower bounds
}

export interface Verdict {
    peak: number;
    at: string;
    step: number; // 0: before the first; -1: no steps
    op: string; // empty: none
    kind: string;
    tiles: { label: string; value: number; form: "bytes" | "percent"; note: string; alarm: boolean }[];
}

export interface Site {
    owner: string;
    ownerDetail: string;
    colour: Colour;
    site: string;
    detail: string; // the call stack
    bytes: number;
    blocks: number;
}

export interface Account {
    whole: number;
    wholeName: string;
    parts: { name: string; note: string; bytes: number; colour: Colour; kind: "full" | "pale" | "hatched" }[];
    beside: { name: string; note: string; bytes: number }[]; // other processes, or host memory
}

export interface Fragmentation {
    sentence: string;
    chart: Timeline;
    pins: { segment: string; size: number; used: number; free: number; blocks: number; holder: string; detail: string; owner: string;
        since: number }[];
}

export interface Growth {
    sentence: string;
    steps: { step: number; end: number; delta: number; peak: number }[];
    survivors: { site: string; detail: string; since: number; steps: number; perStep: number; blocks: number; atEnd: number | null }[];
}

export interface Operator {
    name: string;
    calls: number;
    allocations: number;
    allocated: number;
    rise: number; // maximum rise of memory in use during a call
    atPeak: number;
}

export interface Advice {
    title: string;
    pattern: string;
    meaning: string;
    remedy: string;
    text: string;
    saving: number; // of the peak
    returned: number; // could be returned to the driver
    stake: number;
    site: string;
    detail: string;
    facts: string[];
    minor: boolean;
    refused: number; // size of the request that the driver refused; 0: another pattern
}

export interface RanksView {
    sentence: string;
    steps: number[];
    ranks: { name: string; anchor: string; peaks: (number | null)[] }[];
    spread: { min: number; median: number; max: number }[];
    deviant: { rank: number; step: number; sentence: string } | null;
    causes: { site: string; owner: string; detail: string; bytes: number; reference: number }[];
}
