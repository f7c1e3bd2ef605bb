/** API client, typed by the server's schema. */

import type { Calls, FieldError, Problem } from "./types.ts";

export type Endpoint = keyof Calls;
type HttpMethod<C extends Endpoint> = C extends `${infer M} ${string}` ? M : never;
type PathTemplate<C extends Endpoint> = C extends `${string} ${infer P}` ? P : never;
type PathParams<P extends string> = P extends `${string}{${infer H}}${infer Rest}` ? H | PathParams<Rest> : never;
type QueryValue = string | number | boolean | null | undefined;

/** Parameters of a call: path parameters, query and body. */
export interface RequestOptions<C extends Endpoint> {
  path?: Record<PathParams<PathTemplate<C>>, string>;
  query?: Record<string, QueryValue | readonly string[]>;
  body?: Calls[C]["takes"];
  signal?: AbortSignal;
  /** Idempotency key: the server handles repeated requests with one key once. */
  idempotencyKey?: string;
}

/** Create an idempotency key. `crypto.randomUUID` exists only on https and localhost. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Error response of the server, with a message for the user. */
export class ApiError extends Error {
  readonly status: number;
  /** Errors by field of the request body, if any. */
  readonly errors: readonly FieldError[];

  constructor(status: number, words: string, errors: readonly FieldError[] = []) {
    super(words);
    this.name = "ApiError";
    this.status = status;
    this.errors = errors;
  }
}

export const NO_CONNECTION = "Cannot reach the server. Your text is kept. Try again in a moment.";

/** Send a request and return the parsed response. */
export async function callApi<C extends Endpoint>(
  name: C,
  options: RequestOptions<C> = {},
): Promise<Calls[C]["gives"]> {
  const response = await sendRequest(name, options);
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as Calls[C]["gives"];
}

/** Send a request and return the raw response, for streaming. */
export async function sendRequest<C extends Endpoint>(name: C, options: RequestOptions<C> = {}): Promise<Response> {
  const method: string = name.split(" ", 1)[0] as HttpMethod<C>;
  const response = await fetch(buildUrl(name, options), {
    method,
    headers: buildHeaders(options),
    body: encodeBody(options.body),
    signal: options.signal ?? null,
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, NO_CONNECTION);
  });
  if (!response.ok) throw await readApiError(response);
  return response;
}

/** Build the URL of a call, with path parameters and query. */
export function buildUrl<C extends Endpoint>(name: C, { path, query }: RequestOptions<C> = {}): string {
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

function buildHeaders<C extends Endpoint>({ body, idempotencyKey: key }: RequestOptions<C>): HeadersInit {
  return {
    ...(body && !(body instanceof FormData) ? { "Content-Type": "application/json" } : {}),
    ...(key ? { "Idempotency-Key": key } : {}),
  };
}

function encodeBody(body: unknown): BodyInit | null {
  if (body === null || body === undefined) return null;
  return body instanceof FormData ? body : JSON.stringify(body);
}

async function readApiError(response: Response): Promise<ApiError> {
  const problem = (await response.json().catch(() => null)) as Problem | null;
  const words = problem?.detail || problem?.title || `The server answered with ${response.status}.`;
  return new ApiError(response.status, words, problem?.errors);
}
