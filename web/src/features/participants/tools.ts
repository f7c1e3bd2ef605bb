/** Tools that a participant may call: whole servers, or single tools as `server/tool`. */

import type { ListedServer } from "../../api/types.ts";

export const serverName = (name: string): string => name.split("/", 1)[0] ?? name;

/** Return whether a tool is allowed, by its own name or by its server. */
export function hasTool(selected: readonly string[], name: string): boolean {
  return selected.includes(name) || selected.includes(serverName(name));
}

/** Add or remove a server or tool. Removing one tool of a whole server keeps the others. */
export function setToolAccess(
  selected: readonly string[],
  name: string,
  isAllowed: boolean,
  server: ListedServer,
): readonly string[] {
  const whole = serverName(name);
  if (name === whole) {
    const others = selected.filter((one) => serverName(one) !== whole);
    return isAllowed ? [...others, whole] : others;
  }
  const single = selected.flatMap((one) => (one === whole ? server.tools.map((tool) => tool.name) : one));
  const others = single.filter((one) => one !== name);
  return isAllowed ? [...others, name] : others;
}

/** Selected tools that no longer exist, so that the user can remove them. */
export function missingTools(selected: readonly string[], servers: readonly ListedServer[]): readonly string[] {
  return selected.filter((name) => {
    const server = servers.find((one) => one.name === serverName(name));
    if (!server) return true;
    return name !== server.name && !server.error && !server.tools.some((tool) => tool.name === name);
  });
}
