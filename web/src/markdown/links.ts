/** Which addresses an answer may link to, and what a reader is told about where a link leads. */

import { unescaped } from "./escape.ts";

interface Target {
  href: string;
  /** Where it leads, in few words: a host, or the address of a mail. */
  place: string;
}

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Return where an address leads, or null where it is nothing that an answer may link to. */
export function target(address: string): Target | null {
  const url = parsed(unescaped(address).trim());
  if (url === null || !SCHEMES.has(url.protocol)) return null;
  if (url.protocol === "mailto:")
    return url.pathname.includes("@") ? { href: url.href, place: url.pathname } : null;
  return { href: url.href, place: url.host };
}

/** Browsers of a few years ago have no URL.parse. */
function parsed(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

/** Tell whether the text of a link already begins with the place where it leads. */
export function tells(text: string, { place }: Target): boolean {
  const shown = text
    .trim()
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:)/, "");
  const bare = (host: string): string => host.toLowerCase().replace(/^www\./, "");
  const rest = bare(shown).slice(bare(place).length);
  return bare(shown).startsWith(bare(place)) && /^(?:$|[/?#])/.test(rest);
}
