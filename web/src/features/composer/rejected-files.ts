/** Why a message was not taken, and where that is mended; what was written stays in the box. */

export interface Refused {
  readonly words: string;
  /** Whether it is known that nothing was taken; without a connection it is not. */
  readonly isKnown: boolean;
  readonly link: { readonly path: string; readonly words: string } | null;
}

const USAGE = { path: "/usage", words: "See the budget" };
const MODELS = { path: "/models", words: "Models and keys" };
const PLACE = /^files(\[\d+\])?: /; // the words that follow name the file

export function refused({ status, message }: { status: number; message: string }): Refused {
  const isKnown = status >= 400 && status < 500;
  switch (status) {
    case 402:
      return { words: message, link: USAGE, isKnown };
    case 413:
      return {
        words: `This is too much for one message: shorten it, or leave files out. ${message}`,
        link: null,
        isKnown,
      };
    case 429:
      return { words: `${message} What you wrote is kept.`, link: null, isKnown };
    default:
      return {
        words: message.replace(PLACE, ""),
        link: /\bkey\b/i.test(message) ? MODELS : null,
        isKnown,
      };
  }
}
