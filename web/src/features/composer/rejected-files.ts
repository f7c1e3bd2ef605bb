/** Why a message was not taken, and where that is mended; what was written stays in the box. */

export interface SendError {
  readonly words: string;
  /** Whether it is known that nothing was taken; without a connection it is not. */
  readonly isRejected: boolean;
  readonly link: { readonly path: string; readonly words: string } | null;
}

const USAGE_LINK = { path: "/usage", words: "See the budget" };
const MODELS_LINK = { path: "/models", words: "Models and keys" };
const FILES_PREFIX = /^files(\[\d+\])?: /; // the words that follow name the file

export function describeSendError({ status, message }: { status: number; message: string }): SendError {
  const isKnown = status >= 400 && status < 500;
  switch (status) {
    case 402:
      return { words: message, link: USAGE_LINK, isRejected: isKnown };
    case 413:
      return {
        words: `This is too much for one message: shorten it, or leave files out. ${message}`,
        link: null,
        isRejected: isKnown,
      };
    case 429:
      return { words: `${message} What you wrote is kept.`, link: null, isRejected: isKnown };
    default:
      return {
        words: message.replace(FILES_PREFIX, ""),
        link: /\bkey\b/i.test(message) ? MODELS_LINK : null,
        isRejected: isKnown,
      };
  }
}
