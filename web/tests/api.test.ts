import assert from "node:assert/strict";
import { afterEach, describe, mock, test } from "node:test";
import { buildUrl, callApi, NO_CONNECTION, ApiError } from "../src/api/client.ts";

describe("calls of the server", () => {
  afterEach(() => mock.restoreAll());

  const answers = (response: Response) => mock.method(globalThis, "fetch", () => Promise.resolve(response));
  const refused = (response: Response): Promise<ApiError> => {
    answers(response);
    return callApi("GET /api/me").then(
      () => assert.fail("it was not refused"),
      (error: unknown) => {
        assert.ok(error instanceof ApiError);
        return error;
      },
    );
  };

  test("holes are filled so that nothing breaks out of them", () => {
    assert.equal(
      buildUrl("GET /api/discussions/{id}", { path: { id: "a/b?c" } }),
      "/api/discussions/a%2Fb%3Fc",
    );
  });

  test("a query leaves out what is not there, keeps zero and no, and repeats lists", () => {
    const query = { q: "", cursor: null, before: undefined, limit: 0, hidden: false, after: ["a:1", "b:2"] };
    assert.equal(
      buildUrl("GET /api/discussions", { query }),
      "/api/discussions?limit=0&hidden=false&after=a%3A1&after=b%3A2",
    );
    assert.equal(buildUrl("GET /api/discussions"), "/api/discussions");
  });

  test("a refusal has the server's words and its fields", async () => {
    const errors = [{ field: "title", message: "Too long." }];
    const problem = { title: "Too many", status: 429, detail: "Wait a little.", errors };
    const found = await refused(Response.json(problem, { status: 429 }));
    assert.deepEqual([found.message, found.status, found.errors], ["Wait a little.", 429, errors]);
  });

  test("without a detail the title counts, and without any words the number is told", async () => {
    assert.equal(
      (await refused(Response.json({ title: "Gone", detail: "" }, { status: 410 }))).message,
      "Gone",
    );
    const found = await refused(new Response("<html>", { status: 502 }));
    assert.equal(found.message, "The server answered with 502.");
  });

  test("no connection is said in words, and what was called off is no refusal", async () => {
    mock.method(globalThis, "fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await assert.rejects(callApi("GET /api/me"), { name: "ApiError", status: 0, message: NO_CONNECTION });
    mock.method(globalThis, "fetch", () => Promise.reject(new DOMException("", "AbortError")));
    await assert.rejects(callApi("GET /api/me"), { name: "AbortError" });
  });

  test("a body goes as JSON with its key, and nothing may come back", async () => {
    const fetched = mock.method(globalThis, "fetch", (_url: string, _how: RequestInit) =>
      Promise.resolve(new Response(null, { status: 204 })),
    );
    const body = { name: "ada", password: "secret" };
    assert.equal(await callApi("POST /api/login", { body, idempotencyKey: "k1" }), null);
    const how = fetched.mock.calls[0]?.arguments[1];
    assert.equal(how?.method, "POST");
    assert.equal(how?.body, JSON.stringify(body));
    assert.deepEqual(how?.headers, { "Content-Type": "application/json", "Idempotency-Key": "k1" });
  });
});
