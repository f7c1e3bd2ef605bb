/** File upload with XMLHttpRequest, because `fetch` reports no upload progress. */

import { NO_CONNECTION, ApiError } from "./client.ts";
import type { Problem, StoredFile } from "./types.ts";

export interface Upload {
  readonly result: Promise<StoredFile>;
  cancel(): void;
}

export function uploadFile(file: File, onProgress: (part: number) => void): Upload {
  const request = new XMLHttpRequest();
  const stored = new Promise<StoredFile>((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
    request.onload = () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText) as StoredFile);
      else reject(new ApiError(request.status, uploadErrorMessage(request)));
    };
    request.onerror = () => reject(new ApiError(0, NO_CONNECTION));
    request.onabort = () => reject(new DOMException("Upload cancelled.", "AbortError"));
  });
  const form = new FormData();
  form.append("file", file);
  request.open("POST", "/api/files");
  request.send(form);
  return { result: stored, cancel: () => request.abort() };
}

function uploadErrorMessage(request: XMLHttpRequest): string {
  try {
    return (JSON.parse(request.responseText) as Problem).detail.replace(/^file: it/, "It");
  } catch {
    return `The server answered with ${request.status}.`;
  }
}
