/** Which tools a voice may call: whole servers, or single tools as `server/tool`. Pure values. */

import type { ListedServer } from "../../api/types.ts";

export const serverOf = (name: string): string => name.split("/", 1)[0] ?? name;

/** Tell whether a tool may be called, by its own name or with all of its server. */
export function has(chosen: readonly string[], name: string): boolean {
  return chosen.includes(name) || chosen.includes(serverOf(name));
}

/** Give a server or a tool, or take it away. Whoever has a whole server and loses one tool keeps the others. */
export function given(
  chosen: readonly string[],
  name: string,
  isGiven: boolean,
  server: ListedServer,
): readonly string[] {
  const whole = serverOf(name);
  if (name === whole) {
    const others = chosen.filter((one) => serverOf(one) !== whole);
    return isGiven ? [...others, whole] : others;
  }
  const single = chosen.flatMap((one) => (one === whole ? server.tools.map((tool) => tool.name) : one));
  const others = single.filter((one) => one !== name);
  return isGiven ? [...others, name] : others;
}

/** Those that were chosen and are not there any more, so that they can be taken away. */
export function gone(chosen: readonly string[], servers: readonly ListedServer[]): readonly string[] {
  return chosen.filter((name) => {
    const server = servers.find((one) => one.name === serverOf(name));
    if (!server) return true;
    return name !== server.name && !server.error && !server.tools.some((tool) => tool.name === name);
  });
}
