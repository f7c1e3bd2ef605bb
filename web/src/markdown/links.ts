/** Which addresses an answer may link to, and what a reader is told about where a link leads. */

import { unescapeHtml } from "./escape.ts";

interface LinkTarget {
  href: string;
  /** Where it leads, in few words: a host, or the address of a mail. */
  destination: string;
}

const ALLOWED_SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Return where an address leads, or null where it is nothing that an answer may link to. */
export function parseLinkTarget(address: string): LinkTarget | null {
  const url = parseUrl(unescapeHtml(address).trim());
  if (url === null || !ALLOWED_SCHEMES.has(url.protocol)) return null;
  if (url.protocol === "mailto:")
    return url.pathname.includes("@") ? { href: url.href, destination: url.pathname } : null;
  return { href: url.href, destination: url.host };
}

/** Browsers of a few years ago have no URL.parse. */
function parseUrl(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

/** Tell whether the text of a link already begins with the place where it leads. */
export function showsDestination(text: string, { destination: place }: LinkTarget): boolean {
  const shown = text
    .trim()
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:)/, "");
  const bare = (host: string): string => host.toLowerCase().replace(/^www\./, "");
  const rest = bare(shown).slice(bare(place).length);
  return bare(shown).startsWith(bare(place)) && /^(?:$|[/?#])/.test(rest);
}
