/** Sending a file: only this way is one told how much of it is there already. */

import { NO_CONNECTION, Refusal } from "./client.ts";
import type { Problem, StoredFile } from "./types.ts";

export interface Upload {
  readonly stored: Promise<StoredFile>;
  stop(): void;
}

export function upload(file: File, progressed: (part: number) => void): Upload {
  const request = new XMLHttpRequest();
  const stored = new Promise<StoredFile>((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => progressed(total ? loaded / total : 0);
    request.onload = () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText) as StoredFile);
      else reject(new Refusal(request.status, words(request)));
    };
    request.onerror = () => reject(new Refusal(0, NO_CONNECTION));
    request.onabort = () => reject(new DOMException("It was taken away.", "AbortError"));
  });
  const form = new FormData();
  form.append("file", file);
  request.open("POST", "/api/files");
  request.send(form);
  return { stored, stop: () => request.abort() };
}

function words(request: XMLHttpRequest): string {
  try {
    return (JSON.parse(request.responseText) as Problem).detail.replace(/^file: it/, "It");
  } catch {
    return `The server answered with ${request.status}.`;
  }
}
