import assert from "node:assert/strict";
import { afterEach, describe, mock, test } from "node:test";
import { buildUrl, callApi, NO_CONNECTION, ApiError } from "../src/api/client.ts";

describe("API client", () => {
  afterEach(() => mock.restoreAll());

  const mockFetch = (response: Response) => mock.method(globalThis, "fetch", () => Promise.resolve(response));
  const callError = (response: Response): Promise<ApiError> => {
    mockFetch(response);
    return callApi("GET /api/me").then(
      () => assert.fail("the call did not fail"),
      (error: unknown) => {
        assert.ok(error instanceof ApiError);
        return error;
      },
    );
  };

  test("path parameters are escaped", () => {
    assert.equal(buildUrl("GET /api/discussions/{id}", { path: { id: "a/b?c" } }), "/api/discussions/a%2Fb%3Fc");
  });

  test("a query omits empty values, keeps 0 and false, and repeats lists", () => {
    const query = { q: "", cursor: null, before: undefined, limit: 0, hidden: false, after: ["a:1", "b:2"] };
    assert.equal(
      buildUrl("GET /api/discussions", { query }),
      "/api/discussions?limit=0&hidden=false&after=a%3A1&after=b%3A2",
    );
    assert.equal(buildUrl("GET /api/discussions"), "/api/discussions");
  });

  test("an error has the server's message, status and field errors", async () => {
    const errors = [{ field: "title", message: "Too long." }];
    const problem = { title: "Too many", status: 429, detail: "Wait a little.", errors };
    const error = await callError(Response.json(problem, { status: 429 }));
    assert.deepEqual([error.message, error.status, error.errors], ["Wait a little.", 429, errors]);
  });

  test("the message is the title if there is no detail, and the status if there is no text", async () => {
    assert.equal((await callError(Response.json({ title: "Gone", detail: "" }, { status: 410 }))).message, "Gone");
    const error = await callError(new Response("<html>", { status: 502 }));
    assert.equal(error.message, "The server answered with 502.");
  });

  test("a lost connection is an API error, and an aborted call is not", async () => {
    mock.method(globalThis, "fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await assert.rejects(callApi("GET /api/me"), { name: "ApiError", status: 0, message: NO_CONNECTION });
    mock.method(globalThis, "fetch", () => Promise.reject(new DOMException("", "AbortError")));
    await assert.rejects(callApi("GET /api/me"), { name: "AbortError" });
  });

  test("a body is sent as JSON with its idempotency key, and the response may be empty", async () => {
    const fetched = mock.method(globalThis, "fetch", (_url: string, _init: RequestInit) =>
      Promise.resolve(new Response(null, { status: 204 })),
    );
    const body = { name: "ada", password: "secret" };
    assert.equal(await callApi("POST /api/login", { body, idempotencyKey: "k1" }), null);
    const init = fetched.mock.calls[0]?.arguments[1];
    assert.equal(init?.method, "POST");
    assert.equal(init?.body, JSON.stringify(body));
    assert.deepEqual(init?.headers, { "Content-Type": "application/json", "Idempotency-Key": "k1" });
  });
});
