// SPDX-License-Identifier: Apache-2.0
// The report's JSON (docs/format/report.md), and its conversion to what the page shows.

import { assign, type Colour } from "./colours";
import { bytes, count, percent, shortOp, time } from "./format";
import type { Timeline } from "./timeline";
import type { Branch } from "./treemap";
import type { Account, Advice, Fragmentation, Growth, Operator, RanksView, Site, Subject, Verdict, View } from "./view";

// ---- the format ----

interface Note {
    level: "remark" | "warning" | "partial";
    text: string;
}

interface Amount {
    owner?: string;
    class?: string;
    site?: number | null; // null: all others
    bytes: number;
    blocks: number;
}

interface Block {
    addr: string;
    bytes: number;
    pool: string;
    owner: string;
    op: string;
    site: number | null;
    step: number;
    t_ns: number;
}

interface Moment {
    t_ns: number;
    used_b: number;
    reserved_b: number;
    driver_b: number;
    step: number;
    op: string;
    site: number | null;
    blocks: number;
    owners: Amount[];
    sites: Amount[];
    top: Block[];
    account: {
        driver_b: number;
        segments: number;
        segment_b: number;
        pools: { name: string; reserved_b: number; used_b: number; blocks: number }[];
        modules: { name: string; bytes: number; blocks: number }[];
        pinned_b: number;
        usage: { process_used_b: number; device_used_b: number; device_total_b: number; rest_b: number } | null;
    };
}

interface Device {
    name: string;
    device: number | null;
    peak: Moment;
    end: Moment;
    series: { t_ns: number[]; used_b: number[]; reserved_b: number[]; driver_b: number[]; classes: Record<string, number[]> };
    fragmentation: {
        t_ns: number[];
        reserved_b: number[];
        used_b: number[];
        largest_free_b: number[];
        empty_b: number[];
        pinned_free_b: number[];
        worst_t_ns: number;
        worst_pinned_free_b: number;
        pin_total: number;
        pins: { addr: string; bytes: number; used_b: number; blocks: number; largest: Block }[];
    };
    steps: {
        step: number;
        ended: boolean;
        begin_ns: number;
        end_ns: number;
        begin_b: number;
        end_b: number;
        peak_b: number;
        survivors: Amount[];
    }[];
    steps_left_out: number;
    growth: { from_step: number; to_step: number; bytes: number; per_step_b: number } | null;
    operators: { name: string; calls: number; allocations: number; allocated_b: number; rise_b: number; at_peak_b: number }[];
    operators_left_out: number;
    advice: {
        pattern: string;
        minor: boolean;
        text: string;
        site: number | null;
        op: string;
        from_op: string;
        to_op: string;
        first_step: number;
        last_step: number;
        blocks: number;
        bytes: number;
        at_stake_b: number;
        saves_peak_b: number;
        saves_reserved_b: number;
        confidence: string;
    }[];
    saves_together_b: number;
    exact: boolean;
}

interface SiteInfo {
    label: string;
    op: string;
    frames: { language: "python" | "c"; function: string; file: string; line: number }[];
}

interface Process {
    pid: number;
    name: string;
    command?: string; // empty: unknown
    path: string;
    source: string;
    begin_ns: string;
    duration_ns: number;
    events: number;
    blocks: number;
    accesses: number;
    lost: number;
    lost_memory: number;
    notes: Note[];
    sites: SiteInfo[];
    devices: Device[];
}

interface Ranks {
    text: string;
    ranks: { name: string; process: number; device: number; last_step: number; peak_b: (number | null)[] }[];
    steps: number[];
    min_b: number[];
    median_b: number[];
    max_b: number[];
    departure: {
        rank: number;
        step: number;
        bytes: number;
        text: string;
        causes: { owner: string; label: string; frames: SiteInfo["frames"]; bytes: number; reference_b: number }[];
    } | null;
}

export interface Report {
    format: string;
    version: number;
    input: string;
    partial: boolean;
    notes: Note[];
    classes: { name: string; title: string }[];
    patterns: { name: string; title: string; meaning: string; remedy: string }[];
    processes: Process[];
    ranks?: Ranks | null;
}

const VERSION = 1;

// ---- texts ----

function frameText(frame: SiteInfo["frames"][0]): string {
    const where = frame.file + (frame.line > 0 ? `:${frame.line}` : "");
    return frame.function === "" ? where : where === "" ? frame.function : `${frame.function}  ${where}`;
}

function stackText(frames: SiteInfo["frames"]): string {
    return frames.map(frameText).join("\n");
}

interface Named {
    label: string;
    detail: string;
}

const namedSites = new Map<Process, Named[]>();

/** Names of call sites. Most stacks begin with the same few allocator wrappers, which do not distinguish sites: frames
 *  that a third of all stacks begin with are omitted from the name, never from the stack. */
function nameSites(process: Process): Named[] {
    const stacks = process.sites.filter((site) => site.frames.length > 0);
    const wrappers = new Set<string>();
    for (let depth = 0; stacks.length >= 6; depth++) {
        const seen = new Map<string, number>();
        for (const site of stacks) {
            const frame = site.frames[depth];
            if (frame && site.frames.slice(0, depth).every((above) => wrappers.has(above.function))) {
                seen.set(frame.function, (seen.get(frame.function) ?? 0) + 1);
            }
        }
        const common = [...seen].filter(([name, times]) => name !== "" && times * 3 > stacks.length);
        if (common.length === 0) {
            break;
        }
        common.forEach(([name]) => wrappers.add(name));
    }
    return process.sites.map((site) => {
        const detail = stackText(site.frames);
        const first = site.frames.findIndex((frame) => !wrappers.has(frame.function));
        const own = site.frames.slice(Math.max(first, 0));
        const frame = own[0];
        if (first <= 0 || !frame || frame.language === "python") {
            return { label: shortOp(site.label), detail };
        }
        const where = frame.file === "" ? "" : basename(frame.file) + (frame.line > 0 ? `:${frame.line} ` : " ");
        return { label: where + own.slice(0, 3).map((one) => one.function).join(" < "), detail };
    });
}

function siteOf(process: Process, site: number | null | undefined): Named {
    const names = namedSites.get(process) ?? nameSites(process);
    namedSites.set(process, names);
    const found = site === null || site === undefined ? undefined : names[site];
    return found ?? { label: "all other sites", detail: "" };
}

/** PTA@model@weight -> model \u203a weight; the pool is shown elsewhere. */
function ownerText(owner: string): string {
    const levels = owner.split("@").filter((level) => level !== "");
    return (levels.length > 1 ? levels.slice(1) : levels).join(" \u203a ") || "no owner";
}

function basename(path: string): string {
    return path.replace(/\/+$/, "").split("/").pop() ?? path;
}

/** The program, if known: recording directories are named after the recorder. */
function programOf(process: Process): string {
    const program = (process.command ?? "").split(" ")[0]!;
    return program !== "" ? basename(program) : process.name.replace(/_?\b\d{14}_ascend$|^msmemscope_\d+_\d+_ascend$/, "") || "process";
}

function warningsOf(notes: Note[]): string[] {
    return notes.filter((note) => note.level !== "remark").map((note) => note.text);
}

// ---- one device ----

type Titles = Map<string, string>;

function verdictOf(device: Device, span: number): Verdict {
    const peak = device.peak;
    const tiles: Verdict["tiles"] = [
        { label: "Peak in use", value: peak.used_b, form: "bytes", note: `${count(peak.blocks)} live blocks`, alarm: false },
    ];
    if (peak.reserved_b > 0) {
        const free = peak.reserved_b - Math.min(peak.reserved_b, pooled(peak));
        tiles.push({ label: "Held by pools", value: peak.reserved_b, form: "bytes",
            note: `${percent(free, peak.reserved_b)} of it free at the peak`, alarm: false });
    }
    if (peak.driver_b > 0) {
        tiles.push({ label: "From the driver", value: peak.driver_b, form: "bytes",
            note: `${count(peak.account.segments)} segments in pools`, alarm: false });
    }
    const usage = peak.account.usage;
    if (usage) {
        tiles.push({ label: "Unexplained", value: Math.max(0, usage.rest_b), form: "bytes",
            note: `of ${bytes(usage.process_used_b)} counted by the driver`, alarm: usage.rest_b > 0.1 * usage.process_used_b });
    }
    if (device.growth) {
        const grows = device.growth.per_step_b > 0;
        tiles.push({ label: "Growth per step", value: device.growth.per_step_b, form: "bytes",
            note: `steps ${device.growth.from_step} to ${device.growth.to_step}`, alarm: grows });
    }
    tiles.push({ label: "All advice together", value: device.saves_together_b, form: "bytes",
        note: device.saves_together_b > 0 ? `${percent(device.saves_together_b, peak.used_b)} of the peak` : "nothing to gain",
        alarm: false });
    return { peak: peak.used_b, at: time(peak.t_ns, span), step: device.steps.length > 0 ? peak.step : -1, op: peak.op, kind: "in use", tiles };
}

/** Bytes in pool blocks at that moment. */
function pooled(moment: Moment): number {
    return moment.account.pools.filter((pool) => pool.reserved_b > 0).reduce((sum, pool) => sum + pool.used_b, 0);
}

function timelineOf(device: Device, span: number, titles: Titles, colours: Map<string, Colour>): Timeline | null {
    const series = device.series;
    if (series.t_ns.length === 0) {
        return null;
    }
    const lines: Timeline["lines"] = [];
    if (series.reserved_b.some((b) => b > 0)) {
        lines.push({ name: "Held by pools", kind: "reserved", bytes: series.reserved_b });
    }
    if (series.driver_b.some((b, i) => b !== series.reserved_b[i] && b > 0)) {
        lines.push({ name: "From the driver", kind: "driver", bytes: series.driver_b });
    }
    return {
        label: "Memory over time",
        height: 330,
        begin: 0,
        end: span,
        at: series.t_ns,
        stack: Object.entries(series.classes).map(([name, values]) =>
            ({ name: titles.get(name) ?? name, colour: colours.get(name) ?? "grey", bytes: values })),
        lines,
        steps: device.steps.map((step) => ({ step: step.step, at: step.begin_ns })),
        peak: { at: device.peak.t_ns, bytes: device.peak.used_b, label: `peak ${bytes(device.peak.used_b)}` },
    };
}

/** Owners of a class, and for each the call sites that hold its memory; if sites are not split by owner, the owners. */
function liveOf(process: Process, device: Device, titles: Titles, colours: Map<string, Colour>): { live: Branch[]; sites: Site[] } {
    const sites: Site[] = device.peak.sites.map((amount) => {
        const site = siteOf(process, amount.site);
        const owner = amount.class ? titles.get(amount.class) ?? amount.class : "";
        return { owner: owner || "\u2013", colour: (amount.class && colours.get(amount.class)) || "grey",
            ownerDetail: amount.owner ? ownerText(amount.owner) : "", site: site.label, detail: site.detail,
            bytes: amount.bytes, blocks: amount.blocks };
    });
    const branches = new Map<string, Branch>();
    const bySite = device.peak.sites.every((amount) => amount.class !== undefined);
    for (const amount of bySite ? device.peak.sites : device.peak.owners) {
        const name = amount.class ?? "";
        const branch = branches.get(name) ??
            { name: titles.get(name) ?? name, colour: colours.get(name) ?? "grey", bytes: 0, leaves: [] };
        const site = siteOf(process, amount.site);
        branch.bytes += amount.bytes;
        const leaf = bySite ? site.label : ownerText(amount.owner ?? "");
        branch.leaves.push({ name: leaf, short: leaf.replace(/^[^ ]+:\d+ /, ""), detail: bySite ? site.detail : amount.owner ?? "",
            bytes: amount.bytes, blocks: amount.blocks });
        branches.set(name, branch);
    }
    return { live: [...branches.values()], sites };
}

function accountOf(device: Device): Account | null {
    const account = device.peak.account;
    const parts: Account["parts"] = [];
    const fills: Colour[] = ["blue", "teal", "purple", "indigo"];
    account.pools.forEach((pool, i) => {
        const colour = fills[i % fills.length]!;
        parts.push({ name: `${pool.name}, allocated`, note: `${count(pool.blocks)} blocks`, bytes: pool.used_b, colour, kind: "full" });
        if (pool.reserved_b > pool.used_b) {
            parts.push({ name: `${pool.name}, free`, note: "held by the pool for reuse", bytes: pool.reserved_b - pool.used_b,
                colour, kind: "pale" });
        }
    });
    const modules: Colour[] = ["sand", "orange", "olive", "cyan", "lime", "rose"];
    account.modules.forEach((module, i) => parts.push({ name: module.name, bytes: module.bytes, colour: modules[i % modules.length]!,
        note: `requested from the driver outside pools, ${count(module.blocks)} block${module.blocks === 1 ? "" : "s"}`, kind: "full" }));
    const known = parts.reduce((sum, part) => sum + part.bytes, 0);
    if (account.driver_b - known > account.driver_b / 1000) {
        parts.push({ name: "Segments not reported by pools", note: "rounding by the driver, or a pool that reports less than it holds",
            bytes: account.driver_b - known, colour: "grey", kind: "pale" });
    }
    const rest = Math.max(0, account.usage?.rest_b ?? 0);
    if (account.usage) {
        parts.push({ name: "Unexplained", note: "counted by the driver for this process, but not requested by it: contexts, streams, firmware",
            bytes: rest, colour: "grey", kind: "hatched" });
    }
    const whole = Math.max(known, account.driver_b) + rest;
    if (whole === 0) {
        return null;
    }
    const beside: Account["beside"] = [];
    if (account.pinned_b > 0) {
        beside.push({ name: "Pinned host memory", note: "on the host, for the whole process", bytes: account.pinned_b });
    }
    if (account.usage) {
        beside.push({ name: "Other processes", note: "on the same device, as counted by the driver",
            bytes: Math.max(0, account.usage.device_used_b - account.usage.process_used_b) });
        beside.push({ name: "Free on the device", note: `of ${bytes(account.usage.device_total_b)}`,
            bytes: Math.max(0, account.usage.device_total_b - account.usage.device_used_b) });
    }
    return { whole, wholeName: account.usage ? "Total counted by the driver" : "Known total", parts, beside };
}

function fragmentationOf(process: Process, device: Device, span: number): Fragmentation | null {
    const f = device.fragmentation;
    if (f.t_ns.length === 0 || !f.reserved_b.some((b) => b > 0)) {
        return null;
    }
    const free = f.reserved_b.map((b, i) => Math.max(0, b - f.used_b[i]! - f.empty_b[i]! - f.pinned_free_b[i]!));
    const sentence = f.worst_pinned_free_b > 0 ?
        `At worst, ${bytes(f.worst_pinned_free_b)} were free in ${f.pin_total === 1 ? "a segment that is" : `${count(f.pin_total)} segments that are`} ` +
        `at most a quarter full, ${time(f.worst_t_ns, span)} after the start: the blocks in them prevent the pool from returning them.` :
        "No segment was kept by a few bytes.";
    return {
        sentence,
        chart: {
            label: "Pool memory over time, by usability", height: 210, begin: 0, end: span, at: f.t_ns,
            stack: [
                { name: "Allocated", colour: "blue", bytes: f.used_b },
                { name: "Free next to blocks", colour: "cyan", bytes: free },
                { name: "Free, segment nearly empty", colour: "rose", bytes: f.pinned_free_b },
                { name: "Segment empty", colour: "grey", bytes: f.empty_b },
            ].filter((series) => series.bytes.some((b) => b > 0)) as Timeline["stack"],
            lines: [], steps: [], peak: null,
        },
        pins: f.pins.map((pin) => ({ segment: pin.addr, size: pin.bytes, used: pin.used_b, free: pin.bytes - pin.used_b, blocks: pin.blocks,
            holder: siteOf(process, pin.largest.site).label, detail: siteOf(process, pin.largest.site).detail,
            owner: ownerText(pin.largest.owner), since: pin.largest.step })),
    };
}

function growthOf(process: Process, device: Device): Growth | null {
    const ended = device.steps.filter((step) => step.ended);
    if (ended.length === 0) {
        return null;
    }
    // Step 1 allocates what is meant to stay.
    const later = ended.filter((step) => step.step > 1);
    const found = new Map<number, { bytes: number[]; blocks: number; since: number }>();
    for (const step of later.length > 0 ? later : ended) {
        for (const amount of step.survivors) {
            if (amount.site !== null && amount.site !== undefined) {
                const entry = found.get(amount.site) ?? { bytes: [], blocks: 0, since: step.step };
                entry.bytes.push(amount.bytes);
                entry.blocks += amount.blocks;
                found.set(amount.site, entry);
            }
        }
    }
    const atEnd = new Map<number, number>();
    for (const amount of device.end.sites) {
        if (amount.site !== null && amount.site !== undefined) {
            atEnd.set(amount.site, (atEnd.get(amount.site) ?? 0) + amount.bytes);
        }
    }
    const survivors = [...found].map(([id, entry]) => {
        const sorted = [...entry.bytes].sort((a, b) => a - b);
        return { site: siteOf(process, id).label, detail: siteOf(process, id).detail, since: entry.since, steps: entry.bytes.length,
            perStep: sorted[sorted.length >> 1]!, blocks: entry.blocks, atEnd: atEnd.get(id) ?? null };
    }).sort((a, b) => (b.atEnd ?? 0) - (a.atEnd ?? 0) || b.perStep - a.perStep);
    const growth = device.growth;
    const sentence = !growth ? "Too few steps to measure growth." : growth.per_step_b === 0 ?
        `From step ${growth.from_step} to ${growth.to_step} the memory left at the end of a step is constant.` :
        `From step ${growth.from_step} to ${growth.to_step} the memory left at the end of a step ` +
        `${growth.bytes >= 0 ? "grows" : "falls"} by ${bytes(Math.abs(growth.bytes))}, ${bytes(Math.abs(growth.per_step_b))} in the median step.`;
    return {
        sentence: sentence + (device.steps_left_out > 0 ? ` ${count(device.steps_left_out)} steps are not shown.` : ""),
        steps: ended.map((step, i) => ({ step: step.step, end: step.end_b, peak: step.peak_b,
            delta: i > 0 ? step.end_b - ended[i - 1]!.end_b : step.end_b - step.begin_b })),
        survivors,
    };
}

function adviceOf(report: Report, process: Process, device: Device): Advice[] {
    return device.advice.map((entry) => {
        const pattern = report.patterns.find((p) => p.name === entry.pattern);
        const site = siteOf(process, entry.site);
        const refused = entry.pattern === "out_of_memory";
        const steps = device.steps.length === 0 ? "" : entry.first_step === entry.last_step ? entry.first_step > 0 ? `step ${entry.first_step}` : "before the first step" :
            `steps ${entry.first_step} to ${entry.last_step}`;
        return {
            title: pattern?.title ?? entry.pattern,
            pattern: entry.pattern.replace(/_/g, " "),
            meaning: pattern?.meaning ?? "",
            remedy: pattern?.remedy ?? "",
            text: entry.text,
            saving: entry.saves_peak_b,
            returned: entry.saves_reserved_b,
            stake: entry.at_stake_b,
            site: entry.site === null ? "" : site.label,
            detail: site.detail,
            facts: [
                refused ? `requested ${count(entry.blocks)} time${entry.blocks === 1 ? "" : "s"}` :
                    `${count(entry.blocks)} block${entry.blocks === 1 ? "" : "s"} of ${bytes(entry.bytes)} in total`,
                steps,
                entry.op ? `in ${shortOp(entry.op)}` : "",
                entry.from_op ? `after ${shortOp(entry.from_op)}` : "",
                entry.to_op ? `until ${shortOp(entry.to_op)}` : "",
                entry.confidence ? `confidence ${entry.confidence}` : "",
            ].filter((text) => text !== ""),
            minor: entry.minor,
            refused: refused ? entry.bytes : 0,
        };
    });
}

function operatorsOf(device: Device): Operator[] {
    return device.operators.map((op) => ({ name: op.name, calls: op.calls, allocations: op.allocations, allocated: op.allocated_b,
        rise: op.rise_b, atPeak: op.at_peak_b }));
}

function subjectOf(report: Report, process: Process, device: Device, id: string): Subject {
    const span = Math.max(process.duration_ns, 1);
    const titles: Titles = new Map(report.classes.map((entry) => [entry.name, entry.title]));
    const colours = assign(report.classes.map((entry) => entry.name));
    const { live, sites } = liveOf(process, device, titles, colours);
    const warnings = warningsOf(process.notes);
    if (process.lost > 0 && warnings.length === 0) {
        warnings.push(`${count(process.lost)} events were lost while recording, ${count(process.lost_memory)} of them allocations or frees.`);
    }
    return {
        id,
        process: `${programOf(process)}, pid ${process.pid}`,
        device: device.name,
        facts: [time(span, span), `${count(process.events)} events`, `${count(process.blocks)} blocks`,
            process.accesses > 0 ? `${count(process.accesses)} accesses` : "no accesses recorded"],
        warnings,
        verdict: verdictOf(device, span),
        timeline: timelineOf(device, span, titles, colours),
        live,
        sites,
        blocks: device.peak.top.map((block) => ({ addr: block.addr, bytes: block.bytes, pool: block.pool, owner: ownerText(block.owner),
            site: siteOf(process, block.site).label, detail: siteOf(process, block.site).detail, step: block.step })),
        account: accountOf(device),
        fragmentation: fragmentationOf(process, device, span),
        growth: growthOf(process, device),
        operators: operatorsOf(device),
        operatorsLeftOut: device.operators_left_out,
        advice: adviceOf(report, process, device),
        aside: device.device === null && process.devices.length > 1,
        exact: device.exact,
    };
}

// ---- the whole report ----

function anchor(process: number, device: number): string {
    return `p${process}d${device}`;
}

function ranksOf(ranks: Ranks): RanksView {
    const departure = ranks.departure;
    return {
        sentence: ranks.text,
        steps: ranks.steps,
        ranks: ranks.ranks.map((rank) => ({ name: rank.name, anchor: anchor(rank.process, rank.device), peaks: rank.peak_b })),
        spread: ranks.steps.map((_, i) => ({ min: ranks.min_b[i]!, median: ranks.median_b[i]!, max: ranks.max_b[i]! })),
        deviant: departure ? { rank: departure.rank, step: departure.step, sentence: departure.text } : null,
        causes: departure ? departure.causes.map((cause) => ({ site: shortOp(cause.label), owner: ownerText(cause.owner),
            detail: stackText(cause.frames), bytes: cause.bytes, reference: cause.reference_b })) : [],
    };
}

export function fromReport(report: Report): View {
    if (report.format !== "msmemscope-report" || report.version > VERSION) {
        throw new Error(`format ${report.format}, version ${report.version} is not supported`);
    }
    const subjects = report.processes.flatMap((process, p) => process.devices.map((device, d) =>
        subjectOf(report, process, device, anchor(p, d))));
    const begin = report.processes.map((process) => Number(BigInt(process.begin_ns) / 1000000n)).filter((ms) => ms > 0).sort((a, b) => a - b)[0];
    const names = [...new Set(report.processes.map(programOf))].filter((name) => name !== "process");
    return {
        title: `Memory of ${names.length === 1 ? names[0] : basename(report.input)}`,
        facts: [report.input, begin ? new Date(begin).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "",
            `${report.processes.length} process${report.processes.length === 1 ? "" : "es"}`].filter((text) => text !== ""),
        warnings: warningsOf(report.notes),
        subjects,
        ranks: report.ranks ? ranksOf(report.ranks) : null,
    };
}
