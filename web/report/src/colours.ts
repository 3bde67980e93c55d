// SPDX-License-Identifier: Apache-2.0
// Colours of owners: Paul Tol's schemes, which are distinguishable with any kind of colour vision. Roles that every
// training or serving job has keep their colour in all reports: persistent memory is cool, transient memory is warm. The
// others get the remaining colours, largest first.

export const PALETTE = ["blue", "sand", "teal", "rose", "cyan", "olive", "orange", "indigo", "purple", "lime"] as const;
export type Colour = (typeof PALETTE)[number] | "grey";

const ROLES: [RegExp, Colour][] = [
    [/weight|param/i, "blue"],
    [/optimizer/i, "cyan"],
    [/gradient/i, "teal"],
    [/activation/i, "sand"],
    [/^ops$/i, "rose"],
    [/workspace/i, "olive"],
    [/driver/i, "grey"],
];

/** A colour for each name; names are in order of weight. */
export function assign(names: string[]): Map<string, Colour> {
    const given = new Map<string, Colour>();
    const used = new Set<Colour>();
    for (const name of names) {
        const role = ROLES.find(([pattern, colour]) => pattern.test(name) && !used.has(colour));
        if (role) {
            given.set(name, role[1]);
            used.add(role[1]);
        }
    }
    for (const name of names) {
        if (!given.has(name)) {
            const free = PALETTE.find((colour) => !used.has(colour)) ?? "grey";
            given.set(name, free);
            used.add(free);
        }
    }
    return given;
}

/** The custom property with the colour in the current theme. */
export function css(colour: Colour): string {
    return `var(--c-${colour})`;
}
