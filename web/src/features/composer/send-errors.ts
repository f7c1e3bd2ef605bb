/** Errors of a send request, with a link to the fix. The text stays in the field. */

export interface SendError {
  readonly words: string;
  /** Whether the server certainly rejected the message; unknown without a response. */
  readonly isRejected: boolean;
  readonly link: { readonly path: string; readonly words: string } | null;
}

const USAGE_LINK = { path: "/usage", words: "See the budget" };
const MODELS_LINK = { path: "/models", words: "Models and keys" };
const FILES_PREFIX = /^files(\[\d+\])?: /; // the rest of the message names the file

export function describeSendError({ status, message }: { status: number; message: string }): SendError {
  const isRejected = status >= 400 && status < 500;
  switch (status) {
    case 402:
      return { words: message, link: USAGE_LINK, isRejected };
    case 413:
      return {
        words: `The message is too large. Shorten it or remove files. ${message}`,
        link: null,
        isRejected,
      };
    case 429:
      return { words: `${message} Your text is kept.`, link: null, isRejected };
    default: {
      const link = /\bkey\b/i.test(message) ? MODELS_LINK : null;
      return { words: message.replace(FILES_PREFIX, ""), link, isRejected };
    }
  }
}
