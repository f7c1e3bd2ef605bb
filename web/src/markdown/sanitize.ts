/** The second belt: whatever gets into the page as HTML passes a strict list of tags and attributes. */

import DOMPurify, { type Config } from "dompurify";

/** What a block of markdown is made of. */
const BLOCK_TAGS =
  "a blockquote br code del div em figcaption figure h3 h4 h5 h6 hr li ol p pre span strong sup table tbody td th thead tr ul".split(
    " ",
  );
const BLOCK_ATTRIBUTES =
  "aria-label class data-formula data-language data-note data-noted href rel role start tabindex target".split(
    " ",
  );
/** What KaTeX writes. Its note of the source is left out: it would be read aloud as well. */
const MATH_TAGS =
  "span svg path math semantics mrow mi mo mn ms mtext mspace msub msup msubsup mfrac msqrt mroot munder mover munderover mmultiscripts mtable mtr mtd mstyle mpadded mphantom menclose merror".split(
    " ",
  );
const MATH_ATTRIBUTES =
  "aria-hidden class d data-style preserveaspectratio viewbox xmlns accent accentunder columnalign columnlines columnspacing depth display displaystyle fence height linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator side stretchy symmetric voffset width".split(
    " ",
  );

const COMMON_CONFIG: Config = {
  RETURN_DOM_FRAGMENT: true,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  // The rule for addresses is for addresses only.
  ADD_URI_SAFE_ATTR: [...BLOCK_ATTRIBUTES, ...MATH_ATTRIBUTES].filter((name) => name !== "href"),
};
const BLOCK_CONFIG: Config = { ...COMMON_CONFIG, ALLOWED_TAGS: BLOCK_TAGS, ALLOWED_ATTR: BLOCK_ATTRIBUTES };
const CODE_CONFIG: Config = { ...COMMON_CONFIG, ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] };
const FORMULA_CONFIG: Config = {
  ...COMMON_CONFIG,
  ALLOWED_TAGS: MATH_TAGS,
  ALLOWED_ATTR: MATH_ATTRIBUTES,
  FORBID_CONTENTS: ["annotation", "annotation-xml", "script", "style"],
};

export const sanitizeBlock = createSanitizer(BLOCK_CONFIG);
/** Lets pass what the highlighter writes: spans with classes. */
export const sanitizeCode = createSanitizer(CODE_CONFIG);
export const sanitizeFormula = createSanitizer(FORMULA_CONFIG);

/** One for each list, since to read a list costs as much as a block. */
function createSanitizer(config: Config): (html: string) => DocumentFragment {
  const purify = DOMPurify(window);
  purify.setConfig(config);
  // A link that opens elsewhere must not learn where it was opened; DOMPurify drops targets unless told so.
  purify.addHook("afterSanitizeAttributes", (node) => {
    if (node.nodeName === "A" && node.getAttribute("href")?.startsWith("#") === false) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer nofollow");
    }
  });
  return (html) => purify.sanitize(html) as unknown as DocumentFragment;
}
