/** URLs that an answer may link to, and the displayed target of a link. */

import { unescapeHtml } from "./escape.ts";

interface LinkTarget {
  href: string;
  /** Short target: a host or a mail address. */
  destination: string;
}

const ALLOWED_SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Return the target of a URL, or null if an answer may not link to it. */
export function parseLinkTarget(address: string): LinkTarget | null {
  const url = parseUrl(unescapeHtml(address).trim());
  if (url === null || !ALLOWED_SCHEMES.has(url.protocol)) return null;
  if (url.protocol === "mailto:")
    return url.pathname.includes("@") ? { href: url.href, destination: url.pathname } : null;
  return { href: url.href, destination: url.host };
}

/** Older browsers have no URL.parse. */
function parseUrl(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

/** Return whether the link text already starts with its target. */
export function showsDestination(text: string, { destination: place }: LinkTarget): boolean {
  const shown = text
    .trim()
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:)/, "");
  const bare = (host: string): string => host.toLowerCase().replace(/^www\./, "");
  const rest = bare(shown).slice(bare(place).length);
  return bare(shown).startsWith(bare(place)) && /^(?:$|[/?#])/.test(rest);
}
