/** Calls of the server, typed by what it says it takes and gives. */

import type { Calls, FieldError, Problem } from "./types.ts";

export type Call = keyof Calls;
type Method<C extends Call> = C extends `${infer M} ${string}` ? M : never;
type PathOf<C extends Call> = C extends `${string} ${infer P}` ? P : never;
type Holes<P extends string> = P extends `${string}{${infer H}}${infer Rest}` ? H | Holes<Rest> : never;
type Value = string | number | boolean | null | undefined;

/** What a call needs: what stands in the holes of its path, a query, and a body where it takes one. */
export interface Asking<C extends Call> {
  path?: Record<Holes<PathOf<C>>, string>;
  query?: Record<string, Value | readonly string[]>;
  body?: Calls[C]["takes"];
  signal?: AbortSignal;
  /** A request that comes twice with one key is done once. */
  key?: string;
}

/** A key for a request. Not `crypto.randomUUID`, which browsers only have on https and on this machine. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/** The server said no, in words that tell what to do. */
export class Refusal extends Error {
  readonly status: number;
  /** What is wrong with which field of what was sent, where that is what it is about. */
  readonly errors: readonly FieldError[];

  constructor(status: number, words: string, errors: readonly FieldError[] = []) {
    super(words);
    this.name = "Refusal";
    this.status = status;
    this.errors = errors;
  }
}

export const NO_CONNECTION = "The server cannot be reached. What you wrote is kept; try again in a moment.";

/** Ask the server, and wait for its answer. */
export async function call<C extends Call>(name: C, asking: Asking<C> = {}): Promise<Calls[C]["gives"]> {
  const response = await send(name, asking);
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as Calls[C]["gives"];
}

/** Ask the server, and hand out its answer as it comes. */
export async function send<C extends Call>(name: C, asking: Asking<C> = {}): Promise<Response> {
  const method: string = name.split(" ", 1)[0] as Method<C>;
  const response = await fetch(address(name, asking), {
    method,
    headers: headers(asking),
    body: bodyOf(asking.body),
    signal: asking.signal ?? null,
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refusal(0, NO_CONNECTION);
  });
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Write the address of a call, with its holes filled and its query. */
export function address<C extends Call>(name: C, { path, query }: Asking<C> = {}): string {
  const filled = Object.entries<string>(path ?? {}).reduce(
    (found, [hole, value]) => found.replace(`{${hole}}`, encodeURIComponent(value)),
    name.slice(name.indexOf(" ") + 1),
  );
  const asked = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (Array.isArray(value)) for (const one of value) asked.append(key, one);
    else if (value !== null && value !== undefined && value !== "") asked.set(key, String(value));
  }
  return asked.size ? `${filled}?${asked}` : filled;
}

function headers<C extends Call>({ body, key }: Asking<C>): HeadersInit {
  return {
    ...(body && !(body instanceof FormData) ? { "Content-Type": "application/json" } : {}),
    ...(key ? { "Idempotency-Key": key } : {}),
  };
}

function bodyOf(body: unknown): BodyInit | null {
  if (body === null || body === undefined) return null;
  return body instanceof FormData ? body : JSON.stringify(body);
}

async function refusal(response: Response): Promise<Refusal> {
  const problem = (await response.json().catch(() => null)) as Problem | null;
  const words = problem?.detail || problem?.title || `The server answered with ${response.status}.`;
  return new Refusal(response.status, words, problem?.errors);
}
