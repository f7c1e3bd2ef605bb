/** Changes to kept line-ups; what takes the place of something, or takes it away, can be undone. */

import { call } from "../../api/client.ts";
import { toasts } from "../../stores/toasts.svelte.ts";
import type { LineUp } from "../../api/types.ts";
import { catalogue } from "../../stores/catalog.svelte.ts";
import { laid, tableOf, type Table } from "../participants/setup.ts";

/** Keep a table under a name that nothing has yet. */
export async function added(name: string, table: Table): Promise<void> {
  await call("POST /api/line-ups", { body: { name, ...laid(table, catalogue.personas) } });
  await catalogue.readLineUps();
}

/** Put a table in the place of what was kept; what was there can be had back. */
export async function replaced(one: LineUp, table: Table): Promise<void> {
  const before = tableOf(one);
  await put(one.id, table);
  await catalogue.readLineUps();
  toasts.say(`${one.name} is now the table below.`, {
    undo: () => attempt(put(one.id, before), `${one.name} is as it was.`),
  });
}

/** Delete what was kept; it can be had back as it was, under the same name. */
export async function removed(one: LineUp): Promise<void> {
  const body = { name: one.name, ...laid(tableOf(one), catalogue.personas) };
  await call("DELETE /api/line-ups/{id}", { path: { id: one.id } });
  await catalogue.readLineUps();
  toasts.say(`${one.name} was deleted.`, {
    undo: () => attempt(call("POST /api/line-ups", { body }), `${one.name} is back.`),
  });
}

async function put(id: string, table: Table): Promise<void> {
  await call("PATCH /api/line-ups/{id}", { path: { id }, body: laid(table, catalogue.personas) });
}

async function attempt(work: Promise<unknown>, words: string): Promise<void> {
  try {
    await work;
    await catalogue.readLineUps();
    toasts.say(words);
  } catch (error) {
    toasts.sorry(error);
  }
}
